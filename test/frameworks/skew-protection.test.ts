// A page of a real framework that is left open in Chromium while another version goes live: its lazy script, its
// function on the server and the data of its next page come from its own deployment, for as long as that is kept.
// `npm test -- frameworks --skew`; installs from the registry.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { openBrowser, type BrowserPage } from '#test/setup/browser.ts';
import { chromium } from '#cli/tasks/tools/chromium.ts';
import { startWholePlatform, type WholePlatform } from '#test/setup/whole-platform.ts';
import { makeProject, type Project } from './project.ts';
import { rows } from './rows.ts';
import { skewApps, type SkewApp, type Version } from './skew-apps.ts';

const UNKNOWN = 'd000000000000';

let folder: string;
let platform: WholePlatform;
/** One for each app: its page stays open from test to test. */
const browsers = new Map<string, BrowserPage>();
const projects = new Map<string, Project>();

async function deploy({ app, files }: SkewApp, version: Version): Promise<void> {
  const project = projects.get(app)!;
  for (const [file, text] of Object.entries(files(version))) {
    mkdirSync(path.dirname(path.join(project.folder, file)), { recursive: true });
    project.write(file, text.trimStart());
  }
  await project.platform('deploy', '--prod', '--name', app);
}

const urlOf = (app: string): string => `http://${app}.localhost:${platform.ports.handler}/skew`;
const shows = (browser: BrowserPage, words: string): Promise<void> =>
  browser.until(`document.body.textContent.includes(${JSON.stringify(words)})`);
/** Which version answers the open page. */
const answers = (browser: BrowserPage, at = '/api/version', headers: Record<string, string> = {}): Promise<string> =>
  browser.evaluate(`fetch('${at}', { headers: ${JSON.stringify(headers)} }).then((answer) => answer.text())`);

/** Opens the page; a press before its scripts have run would be lost. */
async function open(browser: BrowserPage, app: string, version: Version): Promise<void> {
  await browser.open(urlOf(app));
  await shows(browser, `page of version ${version}`);
  await browser.evaluate(`window.stays = true`);
}

/** Presses until that shows: the framework may not have taken the page over yet. */
async function press(browser: BrowserPage, name: string, words: string): Promise<void> {
  await browser.evaluate(`new Promise((resolve) => {
    const look = () => {
      if (document.body.textContent.includes(${JSON.stringify(words)})) return resolve();
      [...document.querySelectorAll('button, a')].find((one) => one.textContent === ${JSON.stringify(name)})?.click();
      setTimeout(look, 500);
    };
    look();
  })`);
}

before(
  async () => {
    assert.ok(chromium !== null, 'apt-get install chromium');
    folder = mkdtempSync(path.join(tmpdir(), 'platform-skew-'));
    platform = await startWholePlatform({ HANDLER_PROCESSES: '1' });
    for (const { app } of skewApps) {
      const row = rows.find((one) => one.app === app)!;
      projects.set(app, await makeProject(row, path.join(folder, app), platform.environment));
      browsers.set(app, await openBrowser(chromium));
    }
  },
  { timeout: 300_000 },
);
after(async () => {
  for (const browser of browsers.values()) await browser.close();
  await platform?.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

for (const each of skewApps)
  test(`${each.title}: an open page goes on with its deployment after another one went live`, async () => {
    const { app } = each;
    const browser = browsers.get(app)!;
    await deploy(each, 'one');
    await open(browser, app, 'one');
    assert.equal(await answers(browser), 'one');
    await deploy(each, 'two');

    await press(browser, 'Load', 'script of version one');
    await press(browser, 'Call', 'function of version one');
    assert.equal(await answers(browser), 'one');
    // The next page without a load: its script and its data belong together.
    await press(browser, 'Next', 'data of version one');
    await shows(browser, 'next page of version one');
    assert.equal(await browser.evaluate('window.stays'), true);
    assert.deepEqual(browser.complaints, []);
  });

for (const { app, title } of skewApps)
  test(`${title}: a deployment that nobody knows is asked for, and what is live answers`, async () => {
    const browser = browsers.get(app)!;
    assert.equal(await answers(browser), 'one');
    assert.equal(await answers(browser, '/api/version', { 'x-deployment-id': UNKNOWN }), 'two');
    assert.equal(await answers(browser, `/api/version?dpl=${UNKNOWN}`), 'two');
  });

test('when the time of a deployment is over, what is live answers its open pages, and a reload gives its page', async () => {
  await platform.stop();
  platform = await startWholePlatform({ HANDLER_PROCESSES: '1', SKEW_PROTECTION_MS: '1' }, platform);
  for (const { app } of skewApps) {
    const browser = browsers.get(app)!;
    assert.equal(await answers(browser), 'two');
    await open(browser, app, 'two');
    await press(browser, 'Load', 'script of version two');
    await press(browser, 'Call', 'function of version two');
  }
});
