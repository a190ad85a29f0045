// playwright-core under Node: raw CDPSessions over connectOverCDP.
import { chromium } from 'playwright-core';

export class Client {
  async open(job) {
    this.browser = await chromium.connectOverCDP(job.http);
    this.sessions = [];
    if (job.targets.length) {
      const context = this.browser.contexts()[0];
      this.sessions.push(await context.newCDPSession(context.pages()[0]));
    } else for (let i = 0; i < job.sessions; i++) this.sessions.push(await this.browser.newBrowserCDPSession());
    await this.sessions[0].send('Runtime.enable');
  }
  async evaluate(expression) {
    return (await this.sessions[0].send('Runtime.evaluate', { expression, returnByValue: true })).result.value;
  }
  onEvent(method, callback) { for (const session of this.sessions) session.on(method, () => callback()); }
  onEventParams(method, callback) {
    for (const session of this.sessions) session.on(method, params => callback(params.requestId, params.dataLength));
  }
}
