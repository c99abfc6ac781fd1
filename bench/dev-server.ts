// Shared by the benchmarks of dev servers: requests until a response is as expected, and measures saves until the new
// text is served.
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 1;
const WAIT_MS_MAX = 30_000;
/** Between saves, for what a save left behind. */
const PAUSE_MS = 400;

const agent = new Agent({ keepAlive: true });

/** Asks again and again until an answer has the words. @throws {Error} after 30 s. */
export async function answered(port: number, path: string, words: string): Promise<void> {
  const deadline = performance.now() + WAIT_MS_MAX;
  while (performance.now() < deadline) {
    if ((await get(port, path)).includes(words)) return;
    await delay(POLL_MS);
  }
  throw new Error(`The dev server does not answer with "${words}"`);
}

/**
 * From each save to an answer with the new text, in ms. The file is as it was afterwards.
 *
 * @param words what the file says, which each save replaces
 */
export async function saveTimes(
  port: number,
  path: string,
  file: string,
  words: string,
  count: number,
): Promise<number[]> {
  const original = readFileSync(file, 'utf8');
  const times: number[] = [];
  try {
    for (let at = 1; at <= count; at++) {
      await delay(PAUSE_MS);
      const changed = `${words} ${process.pid}-${at}`;
      const began = performance.now();
      writeFileSync(file, original.replace(words, changed));
      await answered(port, path, changed);
      times.push(performance.now() - began);
    }
  } finally {
    writeFileSync(file, original);
  }
  return times;
}

/** Ends what keeps connections. */
export function endAsking(): void {
  agent.destroy();
}

/** Text of a 200 answer, else ''. */
function get(port: number, path: string): Promise<string> {
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, path, agent }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve(response.statusCode === 200 ? text : ''));
      response.on('error', () => resolve(''));
    });
    sent.on('error', () => resolve(''));
    sent.end();
  });
}
