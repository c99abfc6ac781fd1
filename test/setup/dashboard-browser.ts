// The dashboard of a whole platform in a real Chromium: signed in, at any width, in any theme, judged by axe. For
// test/browser/. Screenshots go to DASHBOARD_SHOTS, a folder outside of the repository, where that is set.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { chromium as engine, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { buildDashboardSite } from '#web/build/dashboard-site.ts';
import { windowlessChromium } from '#cli/tasks/chromium.ts';
import { eventually, startWholePlatform, type WholePlatform } from './whole-platform.ts';

export type Theme = 'light' | 'dark';

// Functions that run in the page see it by this name.
// oxlint-disable-next-line typescript/no-explicit-any -- the tests have no types of browsers
declare const document: any, getComputedStyle: any;

const HEIGHTS: Readonly<Record<number, number>> = { 1440: 900, 820: 1100, 390: 844 };
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const shots = process.env['DASHBOARD_SHOTS'] ?? null;

/** A browser on a dashboard. */
export interface DashboardBrowser {
  /** Origin of the dashboard. */
  readonly origin: string;
  readonly browser: Browser;
  /** Errors of all its pages: uncaught, written to the console, refused by the policy. */
  readonly complaints: string[];
  /** That its pages have asked anything of. */
  readonly hosts: ReadonlySet<string>;
  /**
   * Opens a path in a page of its own and waits until it has read what it shows.
   *
   * @param width 1440 by default; 390 is a phone.
   */
  visit(at: string, look?: { readonly width?: number; readonly theme?: Theme }): Promise<Page>;
  /** Looks at a path in each width and theme: takes a screenshot, asks whether it fits, and axe. */
  inspect(name: string, at: string, ready?: (page: Page) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** With the platform behind it. */
export interface PlatformDashboard extends DashboardBrowser {
  readonly platform: WholePlatform;
}

/** Starts a platform, a browser, and signs in as the first admin by the token of the first start. */
export async function startDashboard(variables: Readonly<Record<string, string>> = {}): Promise<PlatformDashboard> {
  // Built before, so that the platform has nothing to build beside.
  await buildDashboardSite(process.env);
  const platform = await startWholePlatform(variables);
  const origin = `http://localhost:${platform.ports.ui}`;
  await eventually('The dashboard', async () => (await fetch(origin)).ok);
  const opened = await openDashboardBrowser(origin, (page) => signIn(page, origin, platform.token));
  return {
    ...opened,
    platform,
    async close() {
      await opened.close();
      await platform.close();
    },
  };
}

/** A browser on a dashboard that runs, such as that of `platform dev`. @param enter signs in, where that is needed. */
export async function openDashboardBrowser(
  origin: string,
  enter: (page: Page) => Promise<void> = () => Promise.resolve(),
): Promise<DashboardBrowser> {
  assert.ok(windowlessChromium !== null, 'Chromium is not installed: apt-get install chromium');
  const browser = await engine.launch({
    executablePath: windowlessChromium,
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
  const complaints: string[] = [];
  const hosts = new Set<string>();
  const contexts: BrowserContext[] = [];
  let state: Awaited<ReturnType<BrowserContext['storageState']>> | undefined;

  const open = async ({ width = 1440, theme = 'light' as Theme } = {}): Promise<Page> => {
    const context = await browser.newContext({
      viewport: { width, height: HEIGHTS[width] ?? 900 },
      colorScheme: theme,
      reducedMotion: 'reduce',
      timezoneId: 'Europe/Berlin',
      ...(width < 500 && { hasTouch: true, isMobile: true, deviceScaleFactor: 2 }),
      ...(state !== undefined && { storageState: state }),
    });
    contexts.push(context);
    const page = await context.newPage();
    page.on('request', (request) => {
      const { protocol, host } = new URL(request.url());
      if (protocol !== 'data:' && protocol !== 'blob:') hosts.add(host);
    });
    page.on('pageerror', (error) => complaints.push(`${page.url()}: ${error.message}`));
    page.on('console', (message) => {
      // What the API refuses is the page's to show, and the tests' to look for.
      if (message.type() === 'error' && !/Failed to load resource/.test(message.text()))
        complaints.push(`${page.url()}: ${message.text()}`);
    });
    return page;
  };

  const first = await open();
  await enter(first);
  state = await first.context().storageState();
  await first.context().close();

  const visit: DashboardBrowser['visit'] = async (at, look) => {
    const page = await open(look);
    await page.goto(new URL(at, origin).href);
    await settled(page);
    return page;
  };
  return {
    origin,
    browser,
    complaints,
    hosts,
    visit,
    async inspect(name, at, ready) {
      // A page for each kind of device: loading it anew in each width and theme takes three times as long.
      for (const widths of [[1440, 820], [390]]) {
        const page = await visit(at, { width: widths[0]! });
        await ready?.(page);
        await settled(page);
        const colors: Partial<Record<Theme, string>> = {};
        for (const width of widths) {
          await page.setViewportSize({ width, height: HEIGHTS[width]! });
          for (const theme of ['light', 'dark'] as const) {
            await page.emulateMedia({ colorScheme: theme });
            await drawn(page);
            colors[theme] = await page.evaluate(() => getComputedStyle(document.body).color);
            await assertFits(page, `${name} at ${width}, ${theme}`);
            if (shots !== null) {
              mkdirSync(shots, { recursive: true });
              await page.screenshot({ path: path.join(shots, `${name}-${width}-${theme}.png`) });
            }
            if (width !== 820) await assertAccessible(page, `${name} at ${width}, ${theme}`);
          }
        }
        assert.notEqual(colors.light, colors.dark, `${name} looks the same in both themes`);
        await page.context().close();
      }
    },
    async close() {
      await Promise.all(contexts.map((context) => context.close()));
      await browser.close();
    },
  };
}

/** Signs in by the form, as a person does. */
export async function signIn(page: Page, origin: string, token: string): Promise<void> {
  await page.goto(`${origin}/`);
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${origin}/`);
  await settled(page);
}

/** Nothing is being read any more: no placeholder is shown, the heading is there. */
export async function settled(page: Page): Promise<void> {
  // By its element: what is open over a page hides the rest of it from roles.
  await page.locator('h1').first().waitFor();
  await page.waitForFunction(() => document.querySelector('[role=status][aria-label=Loading]') === null);
  // Its stylesheets too: what a test measures or photographs has their sizes.
  await page.waitForFunction(() =>
    [...document.querySelectorAll('link[rel=stylesheet]')].every(({ sheet }) => sheet !== null),
  );
  await page.evaluate(() => document.fonts.ready.then(() => undefined));
}

/** What changed is on the screen, and every transition of it has ended. */
async function drawn(page: Page): Promise<void> {
  await page.evaluate(
    `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))`,
  );
  // An element that is replaced on the way takes its transition with it.
  await page.evaluate(
    `Promise.allSettled(
      document
        .getAnimations()
        .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity)
        .map(({ finished }) => finished),
    ).then(() => undefined)`,
  );
}

/** Nothing is cut off at the side. */
export async function assertFits(page: Page, what: string): Promise<void> {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(over <= 0, `${what} is ${over} pixels wider than the screen`);
}

/** Axe finds no fault that is serious or worse. */
export async function assertAccessible(page: Page, what: string): Promise<void> {
  // Over the protocol: the policy of the page lets no script in.
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: axe });
  const { result } = await session.send('Runtime.evaluate', {
    expression: 'axe.run().then(({ violations }) => violations)',
    awaitPromise: true,
    returnByValue: true,
  });
  const found = (result.value as Violation[])
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(describe).join(' | ')}`);
  assert.deepEqual(found, [], what);
}

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

function describe({ html, failureSummary }: Violation['nodes'][number]): string {
  return `${html.slice(0, 160)} (${failureSummary.slice(0, 240)})`;
}
