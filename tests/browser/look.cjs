// Opens pages in Chromium and says what is wrong with each, as JSON on stdout: what axe finds, what the console
// complains of, and by how many pixels the page is wider than its window. The links of `clicks`, where there are any, are clicked one after the other.
"use strict";
const { readFileSync } = require("node:fs");
const { chromium } = require("playwright-core");

const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const { executable, pages, clicks } = JSON.parse(process.argv[2]);
const WINDOWS = [
  { width: 1280, colorScheme: "light" },
  { width: 390, colorScheme: "dark" },
];

async function looked(context, url, width) {
  const page = await context.newPage();
  const said = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  await page.goto(url);
  // by the devtools protocol, since a page's own policy lets no other script in
  const report = await page.evaluate(`${axe}; axe.run({ resultTypes: ["violations"], preload: false })`);
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  await page.close();
  return { url, width, said, wider, found: report.violations.map((one) => `${one.id}: ${one.nodes[0].html}`) };
}

async function followed(page) {
  await page.goto(clicks.from);
  for (const link of clicks.links) await page.locator(link).first().click();
  const target = page.locator(clicks.target || ":target").first();
  return { text: await target.innerText(), box: await target.boundingBox(), url: page.url() };
}

(async () => {
  const browser = await chromium.launch({ executablePath: executable, args: ["--no-sandbox"] });
  const seen = [];
  for (const { width, colorScheme } of WINDOWS) {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
    seen.push(...(await Promise.all(pages.map((url) => looked(context, url, width)))));
    await context.close();
  }
  const arrived = clicks && (await followed(await (await browser.newContext({ reducedMotion: "reduce" })).newPage()));
  await browser.close();
  console.log(JSON.stringify({ seen, arrived }));
})();
