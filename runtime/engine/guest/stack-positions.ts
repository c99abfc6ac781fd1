// `error.stack` with positions in the sources, if the bundle has a source map. When a stack is first read, the host
// maps it, like logged stacks. main.ts connects it. All code here may run in the middle of tenant code.
import { currentContext } from './context.ts';
import { host } from './host.ts';

/** Maximum number of mapped frames; further frames are not mapped. A worker may raise Error.stackTraceLimit. */
const FRAMES_CHARS_MAX = 4096;
/** CPU that the host's main thread needs to look up one position. */
const CPU_MS_PER_CHAR = 0.0001;

type Prepare = (error: unknown, sites: readonly unknown[]) => string;

const toText = Error.prototype.toString;
const { includes } = String.prototype;
const { apply } = Reflect;
let hasMap = true;

/** Formatted like V8. */
const prepare: Prepare = (error, sites) => {
  let head: string;
  try {
    head = apply(toText, error, []);
  } catch {
    head = '<error>';
  }
  let frames = '';
  let rest = '';
  for (let index = 0; index < sites.length; index++) {
    const frame = `\n    at ${sites[index] as string}`;
    if (rest === '' && frames.length + frame.length <= FRAMES_CHARS_MAX) frames += frame;
    else rest += frame;
  }
  return head + mapped(frames) + rest;
};

function mapped(frames: string): string {
  if (!hasMap || !apply(includes, frames, ['worker.js:'])) return frames;
  const account = currentContext()?.account;
  if (account !== undefined) account.used += frames.length * CPU_MS_PER_CHAR;
  try {
    const text = host.callSync('stack.map', { text: frames }) as string | null;
    hasMap = text !== null;
    return text ?? frames;
  } catch {
    return frames;
  }
}

/** As in Node, workers can replace and restore this function. */
export function installStackPositions(): void {
  Object.defineProperty(Error, 'prepareStackTrace', {
    value: prepare,
    writable: true,
    configurable: true,
    enumerable: false,
  });
}
