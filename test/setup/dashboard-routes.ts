// Which routes of a dashboard a test has shown: the dashboard's own router says which there are. For
// dashboard-browser.ts.
import type { Page } from 'playwright-core';

// Functions that run in the page see it by this name.
// oxlint-disable-next-line typescript/no-explicit-any -- the tests have no types of browsers
declare const document: any, __TSR_ROUTER__: any;

/** What a page says of its dashboard. */
interface Found {
  readonly routes: readonly string[];
  readonly shown: string;
  readonly links: readonly string[];
}

/** Notes of the pages seen, empty at first. */
export function createRouteNotes() {
  let routes: readonly string[] = [];
  const seen = new Set<string>();
  const links = new Set<string>();
  return {
    /** All routes of the dashboard, shorter ones first: lists lead to what they list. Empty before the first page. */
    routes: () => routes,
    /** Whether a page of the route was seen. */
    isSeen: (route: string) => seen.has(route),
    /** Notes a page; one of no dashboard is ignored. */
    async take(page: Page): Promise<void> {
      const found = (await page.evaluate(() => {
        // The router makes itself known for developer tools.
        if (typeof __TSR_ROUTER__ === 'undefined') return null;
        return {
          routes: Object.keys(__TSR_ROUTER__.routesByPath),
          shown: __TSR_ROUTER__.state.matches.at(-1).fullPath,
          links: [...document.querySelectorAll('a[href^="/"]')].map(({ pathname }) => pathname),
        };
      })) as Found | null;
      if (found === null) return;
      routes = found.routes.toSorted((one, other) => one.length - other.length);
      seen.add(found.shown.replace(/(.)\/$/, '$1'));
      for (const link of found.links) links.add(link);
    },
    /**
     * An address of a route. A parameter without a value has that of a link on the pages seen so far; where none leads
     * to the route, its page says that there is nothing.
     */
    addressOf(route: string, values: Readonly<Record<string, string>>): string {
      const filled = route.replaceAll(/\$(\w+)/g, (parameter, name: string) => values[name] ?? parameter);
      if (!filled.includes('$')) return filled;
      const pattern = new RegExp(`^${filled.replaceAll(/\$\w+/g, '[^/]+')}$`);
      return [...links].find((one) => pattern.test(one)) ?? filled.replaceAll('$', 'no-');
    },
  };
}
