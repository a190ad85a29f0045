// chrome-remote-interface: ws and JSON.parse, sessions by argument.
import CDP from 'chrome-remote-interface';

export class Client {
  async open(job) {
    this.client = await CDP({ target: job.ws, local: true });
    this.sessions = [];
    for (let i = 0; i < job.sessions; i++) {
      const params = { targetId: job.target(i), flatten: true };
      this.sessions.push((await this.client.send('Target.attachToTarget', params)).sessionId);
    }
    await this.client.send('Runtime.enable', {}, this.sessions[0]);
  }
  async evaluate(expression) {
    const params = { expression, returnByValue: true };
    return (await this.client.send('Runtime.evaluate', params, this.sessions[0])).result.value;
  }
  onEvent(method, callback) { this.client.on(method, () => callback()); }
  onEventParams(method, callback) { this.client.on(method, params => callback(params.requestId, params.dataLength)); }
}
