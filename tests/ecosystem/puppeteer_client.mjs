// Puppeteer goes through the shop at an address, and prints what it saw.

import puppeteer from 'puppeteer-core';

const PATIENCE = 20_000;
const [url, shop] = process.argv.slice(2);
const seen = {console: [], errors: [], dialogs: []};

const browser = await puppeteer.connect({browserWSEndpoint: url, protocolTimeout: PATIENCE});
seen.pages = (await browser.pages()).map(page => page.url());

const page = await browser.newPage();
page.setDefaultTimeout(PATIENCE);
page.on('console', line => seen.console.push([line.type() === 'warn' ? 'warning' : line.type(), line.text()]));
page.on('pageerror', error => seen.errors.push(error.message));
page.on('dialog', async dialog => {
  seen.dialogs.push([dialog.type(), dialog.message(), dialog.defaultValue()]);
  await (dialog.message() === 'Sure?' ? dialog.dismiss() : dialog.accept(dialog.type() === 'prompt' ? 'me' : undefined));
});

seen.new = page.url();
seen.sum = await page.evaluate('1 + 2');
seen.argument = await page.evaluate(number => number + 4, 3);
await page.goto(shop);
seen.href = await page.evaluate(() => location.href);
seen.total = await page.evaluate(() => cart.total());
seen.items = await page.evaluate(async () => {
  const found = await cart.items();
  return found;
});
await page.goto(`${shop}dialogs`, {waitUntil: 'networkidle0'});
seen.paid = await page.evaluate('cart.pay()');
await page.goto(`${shop}frames`);
seen.frames = page.frames().map(frame => frame.url()).sort();
seen.in_frame = await page.frames().find(frame => frame.url().includes('pay.example')).evaluate(() => location.href);
const opened = new Promise(resolve => page.once('popup', resolve));
await page.evaluate(() => {
  cart.help();
});
const popup = await opened;
while (popup.url() !== `${shop}help`) {
  await popup.waitForNavigation();
}
seen.popup = popup.url();
await popup.close();
await page.close();
seen.left = (await browser.pages()).map(page => page.url());
await browser.disconnect();
console.log(JSON.stringify(seen));
