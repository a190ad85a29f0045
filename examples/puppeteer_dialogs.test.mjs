// A test of a Puppeteer program without a browser: node:test, and the fake browser of cdp_core.testing.
//
//     npm install puppeteer-core && pip install cdp-supervisor && node --test examples/
//
// The fake browser is a separate program. It prints its ws:// address. With --control it also plays steps of pages
// (POST /fake/play) and reports its real state (GET /fake/truth, GET /fake/verdict).

import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {createInterface} from 'node:readline';
import {afterEach, beforeEach, test} from 'node:test';

import puppeteer from 'puppeteer-core';

let program, http, browser;

beforeEach(async () => {
  const command = ['-m', 'cdp_core.testing', 'serve', '--control'];
  program = spawn(process.env.PYTHON ?? 'python3', command, {stdio: ['ignore', 'pipe', 'inherit']});
  const [address] = await once(createInterface({input: program.stdout}), 'line');
  http = `http://${new URL(address).host}`;
  browser = await puppeteer.connect({browserWSEndpoint: address});
});

afterEach(async () => {
  await browser?.disconnect();
  const ended = once(program, 'exit');
  program.kill();
  await ended;
});

const ask = async what => (await fetch(`${http}/fake/${what}`)).json();
const play = async (...steps) => {
  const answer = await fetch(`${http}/fake/play`, {method: 'POST', body: JSON.stringify(steps)});
  assert.equal(answer.status, 200, await answer.text());
};

// The program under test: it accepts dialogs about cookies, and dismisses all others.
function answerQuestions(page) {
  page.on('dialog', dialog => (dialog.message().includes('cookies') ? dialog.accept() : dialog.dismiss()));
}

test('each question gets its answer', async () => {
  const [page] = await browser.pages();
  answerQuestions(page);
  const asked = new Promise(resolve => page.on('console', resolve));

  await play(
    {step: 'Dialog', type: 'confirm', message: 'May we use cookies?'},
    {step: 'Dialog', type: 'confirm', message: 'Delete everything?'},
    {step: 'Console', text: 'all asked'},
  );

  assert.equal((await asked).text(), 'all asked');
  const {dialogs} = await ask('truth');
  assert.deepEqual(dialogs.map(each => [each.message, each.accepted]), [
    ['May we use cookies?', true],
    ['Delete everything?', false],
  ]);
  assert.deepEqual(await ask('verdict'), {clean: true, complaint: null});
});

test('an unanswered dialog is reported', async () => {
  const [page] = await browser.pages();
  const seen = new Promise(resolve => page.on('dialog', resolve)); // and does not answer it

  await play({step: 'Dialog', type: 'alert', message: 'Hello'});

  assert.equal((await seen).message(), 'Hello');
  const {clean, complaint} = await ask('verdict');
  assert.equal(clean, false);
  assert.match(complaint, /an? alert is open on page/);
  await (await seen).accept();
  assert.equal((await ask('verdict')).clean, true);
});
