// puppeteer-core: ws and JSON.parse, a CDPSession per flat session.
import puppeteer from 'puppeteer-core';

export class Client {
  async open(job) {
    this.browser = await puppeteer.connect({ browserWSEndpoint: job.ws, defaultViewport: null });
    this.sessions = [];
    if (job.targets.length) this.sessions.push(await (await this.browser.pages())[0].createCDPSession());
    else for (let i = 0; i < job.sessions; i++) this.sessions.push(await this.browser.target().createCDPSession());
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
