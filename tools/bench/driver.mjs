// Runs one job with one Node adapter in this process and prints one line of JSON: the twin of driver.py and measure.py.
//
//   node driver.mjs adapters/NAME.mjs '{"workload": "seq", "ws": "ws://…", …}'
//
// An adapter exports class Client { async open(job); async evaluate(expression); onEvent(method, callback);
// onEventParams(method, callback(requestId, dataLength)) }.
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';

const METHODS = { network: 'Network.dataReceived', console: 'Runtime.consoleAPICalled' };

class Meter {
  static status(field) {
    return +fs.readFileSync('/proc/self/status', 'utf8').match(new RegExp(`${field}:\\s+(\\d+)`))[1] / 1024;
  }
  constructor() {
    try { fs.writeFileSync('/proc/self/clear_refs', '5'); } catch { /* the peak then counts from the process's start */ }
    this.rssBefore = Meter.status('VmRSS');
    this.cpuBefore = process.cpuUsage();
    this.started = process.hrtime.bigint();
  }
  result() {
    const wall = Number(process.hrtime.bigint() - this.started) / 1e9;
    const { user, system } = process.cpuUsage(this.cpuBefore);
    const peak = Meter.status('VmHWM');
    return {
      wall, cpu: (user + system) / 1e6, rss_before: this.rssBefore, rss_growth: Meter.status('VmRSS') - this.rssBefore,
      peak, peak_growth: peak - this.rssBefore,
    };
  }
}

function requestFlood(job) {
  const { hostname, port } = new URL(job.http);
  const asking = net.connect(+port, hostname);
  asking.write(`GET /emit?n=${job.n}&k=${job.k}&shape=${job.shape} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return asking;
}

function check(truth) {
  if (!truth) throw new Error('wrong value');
}

const workloads = {
  async seq(job, client) {
    for (let i = 0; i < 200; i++) await client.evaluate('1+1');
    const meter = new Meter();
    for (let i = 0; i < job.n; i++) await client.evaluate('1+1');
    return meter.result();
  },
  async pipe(job, client) {
    const oneAfterTheOther = async () => {
      for (let i = 0; i < Math.floor(job.n / job.width); i++) await client.evaluate('1+1');
    };
    await Promise.all(Array.from({ length: Math.min(50, job.width) }, oneAfterTheOther));
    const meter = new Meter();
    await Promise.all(Array.from({ length: job.width }, oneAfterTheOther));
    return meter.result();
  },
  async events(job, client) {
    let left = job.n, done;
    const over = new Promise(resolve => { done = resolve; });
    client.onEvent(METHODS[job.shape], () => { if (--left === 0) done(); });
    const meter = new Meter();
    if (job.real) await client.evaluate(`for(let i=0;i<${job.n};i++)console.log('hello from the page',i);2`);
    else requestFlood(job);
    await over;
    return meter.result();
  },
  async params(job, client) {
    let left = job.n, total = 0, expected = 0, done;
    const over = new Promise(resolve => { done = resolve; });
    client.onEventParams(METHODS.network, (requestId, dataLength) => { total += dataLength; if (--left === 0) done(); });
    const meter = new Meter();
    requestFlood(job);
    await over;
    const result = meter.result();
    for (let i = 0; i < job.n; i++) expected += 1000 + i % 60000;
    check(total === expected);
    return result;
  },
  async flood(job, client) {
    client.onEvent(METHODS[job.shape], () => {});
    const meter = new Meter();
    await new Promise(resolve => requestFlood(job).on('data', resolve));
    await client.evaluate('1+1');
    return meter.result();
  },
  async big(job, client) {
    const size = Math.round(job.mb * 1e6);
    let expression = `'x'.repeat(${size})`;
    await client.evaluate(`'x'.repeat(1000)`);
    if (job.real) {
      check(await client.evaluate(`{let n=${size}; if(!window.R||window.R.length!==n){let a=new Uint8Array(32768),s='';
while(s.length<n){crypto.getRandomValues(a);s+=btoa(String.fromCharCode(...a))} window.R=s.slice(0,n)}; window.R.length}`) === size);
      expression = 'window.R';
    }
    const meter = new Meter();
    for (let i = 0; i < job.n; i++) check((await client.evaluate(expression)).length === size);
    return meter.result();
  },
};
workloads.subscribe = workloads.events;

async function measure(job, client) {
  if (job.workload === 'connect') {
    const meter = new Meter();
    await client.open(job);
    await client.evaluate('1+1');
    return meter.result();
  }
  await client.open(job);
  check(await client.evaluate('1+1') === 2);
  return workloads[job.workload](job, client);
}

const [, , file, text] = process.argv;
const job = { n: 1, k: 1, shape: 'network', width: 1, mb: 0, timeout: 60, targets: [], ...JSON.parse(text) };
job.sessions = Math.max(1, job.k);
job.target = i => (job.targets.length ? job.targets[i % job.targets.length] : 'T1');
setTimeout(() => { console.error('Error: timeout'); process.exit(1); }, job.timeout * 1000).unref();
const { Client } = await import(path.resolve(file));
console.log(JSON.stringify(await measure(job, new Client())));
process.exit(0);
