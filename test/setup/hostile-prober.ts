// The victim's client, in a thread of its own so that neither the attacker's client nor the table's process delays it:
// one request every 20 ms, the next only when the last has ended. Started by hostile.ts and by benchmarks; answers
// `stop` with what it saw.
import { parentPort, workerData } from 'node:worker_threads';

/** What the victim's client saw. */
export interface Probed {
  readonly requests: number;
  readonly failures: number;
  readonly failuresInARow: number;
  /** Longest time from asking to a good answer, over failures in between. */
  readonly longestMs: number;
  readonly lastFailure: string;
}

const { Agent, request } = process.getBuiltinModule('node:http');
const {
  port,
  host,
  everyMs = 20,
  patienceMs = 5000,
} = workerData as { port: number; host: string; everyMs?: number; patienceMs?: number };
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const seen = { requests: 0, failures: 0, failuresInARow: 0, longestMs: 0, lastFailure: '' };
let row = 0;
/** Since when the victim has been waiting for a good answer. */
let waitingSince = 0;
let stopping = false;

function ask(): Promise<string> {
  return new Promise((resolve) => {
    const sent = request({ agent, host: '127.0.0.1', port, path: '/', headers: { host } }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () =>
        resolve(response.statusCode === 200 && text === 'unhurt' ? '' : `${response.statusCode} ${text}`),
      );
      response.on('error', (error) => resolve(String(error)));
    });
    sent.setTimeout(patienceMs, () => sent.destroy(new Error(`no answer within ${patienceMs} ms`)));
    sent.on('error', (error) => resolve(String(error)));
    sent.end();
  });
}

async function probe(): Promise<void> {
  while (!stopping) {
    const askedAt = performance.now();
    if (row === 0) waitingSince = askedAt;
    const failure = await ask();
    seen.requests++;
    if (failure === '') {
      seen.longestMs = Math.max(seen.longestMs, performance.now() - waitingSince);
      row = 0;
    } else {
      seen.failures++;
      seen.failuresInARow = Math.max(seen.failuresInARow, ++row);
      seen.lastFailure = failure;
    }
    if (seen.requests === 1) parentPort?.postMessage('probing');
    const restMs = askedAt + everyMs - performance.now();
    if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
  }
  if (row > 0) seen.longestMs = Math.max(seen.longestMs, performance.now() - waitingSince);
  agent.destroy();
  parentPort?.postMessage(seen);
  parentPort?.close();
}

parentPort?.on('message', () => (stopping = true));
void probe();
