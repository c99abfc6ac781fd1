// A real Chromium for tests, driven over its own protocol: opens pages, acts on them as a person does, and notes what
// they load and complain of.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { WebSocket } from 'ws';

/** A page. */
export interface BrowserPage {
  /** Addresses of all it asked for. */
  readonly requested: readonly string[];
  /** Errors: uncaught, written to the console, refused by a policy. */
  readonly complaints: readonly string[];
  open(url: string): Promise<void>;
  /** The value of an expression, awaited. */
  evaluate<Value = unknown>(expression: string): Promise<Value>;
  /** Resolves when an expression is true; looked at after every change of the page. */
  until(expression: string): Promise<void>;
  /** Presses the first visible button or link of this name, or with it as its label, inside what the selector names. */
  press(name: string, inside?: string): Promise<void>;
  /** Fills the field of that name with a text. */
  type(field: string, text: string): Promise<void>;
  /** What the system prefers. */
  prefer(scheme: 'light' | 'dark'): Promise<void>;
  screenshot(file: string): Promise<void>;
  close(): Promise<void>;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly sessionId?: string;
  readonly params?: any;
  readonly result?: any;
  readonly error?: { readonly message: string };
}

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
  '--remote-debugging-port=0',
  '--window-size=1280,900',
];

/** Starts a browser with one empty page. @param path of chromium.ts */
export async function openBrowser(path: string): Promise<BrowserPage> {
  const profile = await mkdtemp(join(tmpdir(), 'platform-browser-'));
  const child = spawn(path, [...flags, `--user-data-dir=${profile}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const address = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`The browser ended with ${code}`)));
    createInterface({ input: child.stderr }).on('line', (line) => {
      const [, found] = /^DevTools listening on (ws:\S+)/.exec(line) ?? [];
      if (found !== undefined) resolve(found);
    });
  });
  const socket = new WebSocket(address);
  await once(socket, 'open');

  let last = 0;
  const waiting = new Map<number, PromiseWithResolvers<any>>();
  const requested: string[] = [];
  const complaints: string[] = [];
  let loaded = Promise.withResolvers<void>();
  socket.on('message', (text) => {
    const { id, method, params, result, error } = JSON.parse(String(text)) as Message;
    if (id !== undefined) {
      const asked = waiting.get(id);
      waiting.delete(id);
      if (error === undefined) asked?.resolve(result);
      else asked?.reject(new Error(error.message));
    }
    if (method === 'Network.requestWillBeSent') requested.push(params.request.url);
    if (method === 'Runtime.exceptionThrown')
      complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === 'Log.entryAdded' && params.entry.level === 'error')
      complaints.push(`${params.entry.text} ${params.entry.url ?? ''}`);
    if (method === 'Page.loadEventFired') loaded.resolve();
  });
  let session: string | undefined;
  const ask = <Result = any>(method: string, params: object = {}): Promise<Result> => {
    const asked = Promise.withResolvers<Result>();
    waiting.set(++last, asked);
    socket.send(JSON.stringify({ id: last, method, params, ...(session !== undefined && { sessionId: session }) }));
    return asked.promise;
  };
  const { targetInfos } = await ask('Target.getTargets');
  const { targetId } = targetInfos.find(({ type }: { type: string }) => type === 'page');
  ({ sessionId: session } = await ask('Target.attachToTarget', { targetId, flatten: true }));
  for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await ask(`${domain}.enable`);

  const evaluate = async <Value = unknown>(expression: string): Promise<Value> => {
    const { result, exceptionDetails } = await ask('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
      // As if a person did it: pages may open others.
      userGesture: true,
    });
    if (exceptionDetails !== undefined)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value as Value;
  };
  const until = (expression: string): Promise<void> =>
    evaluate(`new Promise((resolve) => {
      const look = () => { if (!(${expression})) return; observer.disconnect(); resolve(); };
      const observer = new MutationObserver(look);
      observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
      look();
    })`);
  const found = (name: string, inside: string): string =>
    `[...document.querySelectorAll(${JSON.stringify(`${inside} :is(button, a)`)})].find((one) => one.checkVisibility() && !one.disabled && [one.textContent, one.ariaLabel].includes(${JSON.stringify(name)}))`;

  return {
    requested,
    complaints,
    evaluate,
    until,
    async open(url) {
      loaded = Promise.withResolvers<void>();
      await ask('Page.navigate', { url });
      await loaded.promise;
    },
    async press(name, inside = 'body') {
      await until(found(name, inside));
      await evaluate(`${found(name, inside)}.click()`);
    },
    async type(field, text) {
      const one = `[...document.querySelectorAll('[name=${field}]')].findLast((one) => one.checkVisibility())`;
      await until(one);
      await evaluate(
        `{ const one = ${one}; one.value = ${JSON.stringify(text)}; one.dispatchEvent(new Event('input', { bubbles: true })); }`,
      );
    },
    prefer: (scheme) =>
      ask('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] }),
    async screenshot(file) {
      const { data } = await ask('Page.captureScreenshot', { format: 'png' });
      await writeFile(file, Buffer.from(data, 'base64'));
    },
    async close() {
      const exited = once(child, 'exit');
      socket.close();
      child.kill('SIGTERM');
      await exited;
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
