// The page of a case: one text of JavaScript that both sides evaluate, ours inside an isolate and Node's in a worker
// thread, so that both run the same subtests under the same harness.
import { readFileSync } from 'node:fs';
import { scriptFile, type WptCase } from './cases.ts';

/** How a page ended. Only the messages of what did not pass are kept. */
export interface PageResult {
  /** Subtest name -> null when it passed, else why not. */
  readonly subtests: Record<string, string | null>;
  /** Why the file ended before its end; null when it did not. */
  readonly death: string | null;
}

interface Page {
  readonly url: string;
  /** The harness, then includes and file as one script: their `const`s share a scope, as the scripts of a page do. */
  readonly scripts: readonly { name: string; text: string }[];
  readonly wallMs: number;
}

const TEST_WALL_MS = 15_000;
const LONG_WALL_MS = 90_000;

/** An expression that runs a case where it is evaluated; a promise of the result's JSON. */
export function pageSource(folder: string, test: WptCase, origin: string): string {
  const read = (path: string): string => readFileSync(scriptFile(folder, path), 'utf8');
  const text = [...test.includes, test.file].map((path) => `\n;${read(path)}`).join('\n');
  const page: Page = {
    url: `${origin}/${test.file.replace('.any.js', '.any.worker.html')}${test.variant}`,
    scripts: [
      { name: 'testharness.js', text: read('resources/testharness.js') },
      { name: test.file, text },
    ],
    wallMs: test.isLong ? LONG_WALL_MS : TEST_WALL_MS,
  };
  return `(${runPage.toString()})(${JSON.stringify(page)})`;
}

// Runs inside the isolate or the worker thread, as text: it may use nothing of this module.
function runPage(page: Page): Promise<string> {
  const scope = globalThis as any;
  const define = (name: string, value: unknown): void =>
    void Object.defineProperty(scope, name, { value, writable: true, configurable: true, enumerable: false });
  define('self', scope);
  const { href, origin, protocol, host, hostname, port, pathname, search, hash } = new URL(page.url);
  define('location', { href, origin, protocol, host, hostname, port, pathname, search, hash, toString: () => href });
  define('GLOBAL', { isWindow: () => false, isWorker: () => true, isShadowRealm: () => false });
  define('Window', Object.getPrototypeOf(scope).constructor);
  const fetch = scope.fetch;
  define('fetch', (input: unknown, init?: unknown) =>
    fetch(typeof input === 'string' || input instanceof URL ? new URL(String(input), page.url).href : input, init),
  );
  const setTimer = scope.setTimeout;
  const json = JSON.stringify;
  return new Promise((resolve) => {
    let death: string | null = null;
    let end = (tests: any[]): void => {
      end = () => undefined;
      const subtests: Record<string, string | null> = Object.create(null);
      for (const test of tests) {
        let name = String(test.name);
        for (let count = 2; name in subtests; count++) name = `${test.name} (${count})`;
        subtests[name] = test.status === 0 ? null : `${test.format_status()}: ${String(test.message).slice(0, 300)}`;
      }
      resolve(json({ subtests, death }));
    };
    try {
      for (const { name, text } of page.scripts) {
        // oxlint-disable-next-line no-eval -- what a page's script element does
        (0, eval)(`${text}\n//# sourceURL=${name}`);
        if (name !== 'testharness.js') continue;
        scope.add_completion_callback((tests: any[], status: any) => {
          if (status.status !== 0) death ??= `${status.format_status()}: ${String(status.message).slice(0, 300)}`;
          end(tests);
        });
        setTimer(() => {
          death ??= 'timeout';
          scope.timeout();
        }, page.wallMs);
      }
    } catch (error: any) {
      death = `threw ${String(error?.stack ?? error).slice(0, 600)}`;
      setTimer(() => scope.timeout(), 2000);
      scope.done();
    }
  });
}
