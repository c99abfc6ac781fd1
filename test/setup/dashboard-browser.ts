// A dashboard in the Chromium that the files of test/browser/ share (browser-suite.ts): signed in, at any width, in any
// theme, judged by axe. Screenshots go to DASHBOARD_SHOTS, a folder outside of the repository, where that is set.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { chromium as engine, type Browser, type BrowserContext, type CDPSession, type Page } from 'playwright-core';
import { createRouteNotes } from './dashboard-routes.ts';

type Theme = 'light' | 'dark';
type Width = keyof typeof HEIGHTS;

// Functions that run in the page see it by this name.
// oxlint-disable-next-line typescript/no-explicit-any -- the tests have no types of browsers
declare const document: any, getComputedStyle: any;

const HEIGHTS = { 1440: 900, 820: 1100, 390: 844 } as const;
/** What axe is asked for: everything, the rules that depend on colours, or the others. */
type Rules = 'all' | 'colors' | 'structure';
/**
 * In what a page is inspected: loaded once for each kind of device, since loading it for each look takes three times as
 * long. One look differs from the next in one thing. Axe is asked for everything once a theme and once a device, of
 * their other pairs for the colours.
 */
type Looks = readonly (readonly { readonly width: Width; readonly theme: Theme; readonly rules: Rules | null }[])[];
const LOOKS: Looks = [
  [
    { width: 1440, theme: 'light', rules: 'all' },
    { width: 1440, theme: 'dark', rules: 'colors' },
    { width: 820, theme: 'dark', rules: null },
    { width: 820, theme: 'light', rules: null },
  ],
  [
    { width: 390, theme: 'light', rules: 'colors' },
    { width: 390, theme: 'dark', rules: 'all' },
  ],
];
/** The same without a phone: the page is loaded once. */
const BRIEF_LOOKS: Looks = [
  [
    { width: 1440, theme: 'light', rules: 'all' },
    { width: 1440, theme: 'dark', rules: 'colors' },
    { width: 820, theme: 'dark', rules: null },
    { width: 390, theme: 'dark', rules: 'all' },
    { width: 390, theme: 'light', rules: 'colors' },
  ],
];
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];
const RULES: Readonly<Record<Rules, object>> = {
  all: {},
  colors: { runOnly: COLOR_RULES },
  structure: { rules: Object.fromEntries(COLOR_RULES.map((rule) => [rule, { enabled: false }])) },
};
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** What is waited for comes on a busy machine as well. */
const WAIT_MS = 120_000;
const shots = process.env['DASHBOARD_SHOTS'] ?? null;

/** Variable with the address of that Chromium. */
export const chromiumVariable = 'TEST_CHROMIUM_URL';

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
   * @param alone with cookies, a network and a cache of its own.
   */
  visit(at: string, look?: { readonly width?: Width; readonly theme?: Theme; readonly alone?: boolean }): Promise<Page>;
  /** Looks at a path in each width and theme: takes a screenshot, asks whether it fits, and axe. */
  inspect(name: string, at: string, ready?: (page: Page) => Promise<void>): Promise<void>;
  /**
   * Looks at a page of each route of the dashboard that {@link inspect} has not seen.
   *
   * @param values of parameters of routes. A parameter without one has that of a link of the pages seen so far.
   */
  inspectRest(values: Readonly<Record<string, string>>): Promise<void>;
  /** Closes what {@link visit} has opened: a page that is left open goes on asking. */
  closePages(): Promise<void>;
  close(): Promise<void>;
}

/** Connects to the Chromium of the run. What was opened over a connection is closed with it. */
async function connectChromium(): Promise<Browser> {
  const address = process.env[chromiumVariable];
  assert.ok(address !== undefined, 'Chromium is not installed: apt-get install chromium');
  return engine.connect(address);
}

/** A page of an app, in a context of its own. */
export interface AppPage {
  readonly page: Page;
  /** Its errors. */
  readonly complaints: string[];
  close(): Promise<void>;
}

/** Opens an empty page. */
export async function openAppPage(): Promise<AppPage> {
  const browser = await connectChromium();
  const context = await browser.newContext();
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  keepComplaints(page, complaints);
  return { page, complaints, close: () => browser.close() };
}

/** Keeps the errors of a page: uncaught, written to the console, refused by the policy. */
function keepComplaints(page: Page, complaints: string[], ignored?: RegExp): void {
  page.on('pageerror', (error) => {
    // Of a page that was left while it loaded. For a file that is missing, the console has an error of its own.
    if (!error.message.startsWith('Unable to preload')) complaints.push(`${page.url()}: ${error.message}`);
  });
  page.on('console', (message) => {
    if (message.type() === 'error' && ignored?.test(message.text()) !== true)
      complaints.push(`${page.url()}: ${message.text()}`);
  });
}

/** A kind of device: pages are opened in its context. */
interface Device {
  readonly context: BrowserContext;
  /** Shows what is inspected. It opens the others: they need no process of their own. */
  readonly page: Page;
}

/** A browser on a dashboard that runs. @param enter signs in, where that is needed. */
export async function openDashboardBrowser(
  origin: string,
  enter: (page: Page) => Promise<void> = () => Promise.resolve(),
): Promise<DashboardBrowser> {
  const browser = await connectChromium();
  const complaints: string[] = [];
  const hosts = new Set<string>();
  const nothing = new URL('/nothing-to-see', origin).href;
  let state: Awaited<ReturnType<BrowserContext['storageState']>> | undefined;

  const openContext = async (width: Width): Promise<BrowserContext> => {
    const context = await browser.newContext({
      viewport: { width, height: HEIGHTS[width] },
      colorScheme: 'light',
      reducedMotion: 'reduce',
      timezoneId: 'Europe/Berlin',
      ...(width < 500 && { hasTouch: true, isMobile: true, deviceScaleFactor: 2 }),
      ...(state !== undefined && { storageState: state }),
    });
    context.setDefaultTimeout(WAIT_MS);
    return context;
  };
  const watch = (page: Page): void => {
    page.on('request', (request) => {
      const { protocol, host } = new URL(request.url());
      if (protocol !== 'data:' && protocol !== 'blob:') hosts.add(host);
    });
    // What the API refuses is the page's to show, and the tests' to look for.
    keepComplaints(page, complaints, /Failed to load resource/);
  };
  const openDevice = async (width: Width): Promise<Device> => {
    const context = await openContext(width);
    const page = await context.newPage();
    watch(page);
    await page.route(nothing, (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }));
    return { context, page };
  };
  const openPage = async ({ page: opener }: Device): Promise<Page> => {
    // Nothing there asks for more meanwhile.
    if (opener.url() !== nothing) await opener.goto(nothing);
    const [page] = await Promise.all([opener.waitForEvent('popup'), opener.evaluate('void open()')]);
    watch(page);
    return page;
  };
  const goTo = async (page: Page, at: string): Promise<void> => {
    await page.goto(new URL(at, origin).href);
    await settled(page);
  };

  const desk = await openDevice(1440);
  await enter(desk.page);
  state = await desk.context.storageState();
  let phone: Device | undefined;
  const deviceOf = async (width: Width): Promise<Device> => (width < 500 ? (phone ??= await openDevice(width)) : desk);
  const opened: { close(): Promise<void> }[] = [];
  const notes = createRouteNotes();
  const look = async (all: Looks, name: string, at: string, ready?: (page: Page) => Promise<void>): Promise<void> => {
    for (const looks of all) {
      const { page } = await deviceOf(looks[0]!.width);
      const colors: Partial<Record<Theme, string>> = {};
      let shown: Theme | null = null;
      for (const [index, { width, theme, rules }] of looks.entries()) {
        if (page.viewportSize()!.width !== width) await page.setViewportSize({ width, height: HEIGHTS[width] });
        if (theme !== shown) await page.emulateMedia({ colorScheme: theme });
        shown = theme;
        if (index === 0) {
          await goTo(page, at);
          await ready?.(page);
          await settled(page);
          await notes.take(page);
        }
        await drawn(page);
        colors[theme] = await page.evaluate(() => getComputedStyle(document.body).color);
        await assertFits(page, `${name} at ${width}, ${theme}`);
        if (shots !== null) {
          mkdirSync(shots, { recursive: true });
          await page.screenshot({ path: path.join(shots, `${name}-${width}-${theme}.png`) });
        }
        if (rules !== null) await assertAccessible(page, `${name} at ${width}, ${theme}`, rules);
      }
      assert.notEqual(colors.light, colors.dark, `${name} looks the same in both themes`);
    }
  };
  return {
    origin,
    browser,
    complaints,
    hosts,
    async visit(at, { width = 1440, theme = 'light', alone = false } = {}) {
      const device = alone ? await openDevice(width) : await deviceOf(width);
      const page = await openPage(device);
      opened.push(alone ? device.context : page);
      if (theme !== 'light') await page.emulateMedia({ colorScheme: theme });
      await goTo(page, at);
      return page;
    },
    inspect: (name, at, ready) => look(LOOKS, name, at, ready),
    async inspectRest(values) {
      if (notes.routes().length === 0) {
        await goTo(desk.page, '/');
        await notes.take(desk.page);
      }
      for (const route of notes.routes()) {
        if (notes.isSeen(route)) continue;
        const name = `rest${route.replaceAll(/[/$]+/g, '-').replace(/-$/, '')}`;
        await look(BRIEF_LOOKS, name, notes.addressOf(route, values));
      }
    },
    async closePages() {
      await Promise.all(opened.splice(0).map((one) => one.close()));
    },
    close: () => browser.close(),
  };
}

/** Signs in by the form, as a person does. */
export async function signIn(page: Page, origin: string, token: string): Promise<void> {
  await page.goto(`${origin}/`);
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(({ pathname }) => pathname === '/' || pathname === '/setup');
  // The first sign-in on a platform.
  if (new URL(page.url()).pathname === '/setup') await page.goto(`${origin}/`);
  await settled(page);
}

/** Nothing is being read any more: no placeholder is shown, the heading is there. */
export async function settled(page: Page): Promise<void> {
  await page.waitForFunction(
    () =>
      // By its element: what is open over a page hides the rest of it from roles.
      document.querySelector('h1')?.checkVisibility() === true &&
      document.querySelector('[role=status][aria-label=Loading]') === null &&
      // What a test measures or photographs has the sizes that stylesheets and fonts give it.
      [...document.querySelectorAll('link[rel=stylesheet]')].every(({ sheet }) => sheet !== null) &&
      document.fonts.status === 'loaded',
    undefined,
    // Not in each frame: that draws frames as long as it waits.
    { polling: 50 },
  );
}

/** What changed is on the screen, and every transition of it has ended. */
async function drawn(page: Page): Promise<void> {
  // An element that is replaced on the way takes its transition with it.
  await page.evaluate(
    `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))).then(() =>
      Promise.allSettled(
        document
          .getAnimations()
          .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity)
          .map(({ finished }) => finished),
      ),
    ).then(() => undefined)`,
  );
}

/** Nothing is cut off at the side. */
export async function assertFits(page: Page, what: string): Promise<void> {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(over <= 0, `${what} is ${over} pixels wider than the screen`);
}

/** Pixels by which the page itself scrolls, besides the lists on it. */
export async function pageScrollPx(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollHeight - document.documentElement.clientHeight);
}

/** Axe finds no fault of any kind. @param within selector of what it looks at: default everything */
export async function assertAccessible(
  page: Page,
  what: string,
  rules: Rules = 'all',
  within: string | null = null,
): Promise<void> {
  // Over the protocol: the policy of the page lets no script in.
  const session = sessions.get(page) ?? (await page.context().newCDPSession(page));
  sessions.set(page, session);
  const evaluate = async (expression: string): Promise<unknown> => {
    const asked = { expression, awaitPromise: true, returnByValue: true };
    return (await session.send('Runtime.evaluate', asked)).result.value;
  };
  if ((await evaluate('typeof axe')) === 'undefined') await evaluate(`${axe};0`);
  const found = (await evaluate(
    `axe.run(${within === null ? 'document' : JSON.stringify(within)}, ${JSON.stringify(RULES[rules])}).then(
      (found) => found.violations,
    )`,
  )) as Violation[];
  const faults = found.map(
    ({ id, impact, nodes }) => `${id} (${impact}): ${nodes.slice(0, 3).map(describe).join(' | ')}`,
  );
  assert.deepEqual(faults, [], what);
}

/** To ask axe by; a page keeps it when it goes elsewhere. */
const sessions = new WeakMap<Page, CDPSession>();

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

function describe({ html, failureSummary }: Violation['nodes'][number]): string {
  return `${html.slice(0, 160)} (${failureSummary.slice(0, 240)})`;
}
