// Requests at a steady rate while a test does something to the platform, each judged.
import { Agent, request } from 'node:http';

/** What came of it so far. */
interface SteadyLoad {
  readonly sent: number;
  readonly answered: number;
  /** What was not as it should be, with the moment (ms since the start). */
  readonly failures: readonly string[];
  /** Texts that came, in the order of their first appearance. */
  readonly texts: readonly string[];
  stop(): Promise<void>;
}

const TICK_MS = 10;

/** Sends `perSecond` requests a second to a host, over kept connections; every answer is to have status 200. */
export function startSteadyLoad(options: {
  readonly port: number;
  readonly host: string;
  readonly perSecond: number;
}): SteadyLoad {
  const { port, host, perSecond } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const started = performance.now();
  const texts = new Set<string>();
  const failures: string[] = [];
  const open = new Set<Promise<void>>();
  let sent = 0;
  let answered = 0;
  const fail = (reason: string): void => void failures.push(`${Math.round(performance.now() - started)} ms: ${reason}`);
  const one = (): Promise<void> =>
    new Promise((resolve) => {
      const sending = request({ host: '127.0.0.1', port, agent, headers: { host } }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
        response.on('end', () => {
          answered++;
          if (response.statusCode === 200) texts.add(body);
          else fail(`${response.statusCode} ${body.slice(0, 200)}`);
          resolve();
        });
        response.on('error', (error) => {
          fail(error.message);
          resolve();
        });
      });
      sending.on('error', (error: NodeJS.ErrnoException) => {
        // A kept connection that the server closed at that moment: a client asks once more, as browsers do.
        if (sending.reusedSocket && error.code === 'ECONNRESET') void one().then(resolve);
        else {
          fail(error.code ?? error.message);
          resolve();
        }
      });
      sending.end();
    });
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - started) * perSecond) / 1000);
    for (; sent < due; sent++) {
      const done: Promise<void> = one().finally(() => void open.delete(done));
      open.add(done);
    }
  }, TICK_MS);
  return {
    get sent() {
      return sent;
    },
    get answered() {
      return answered;
    },
    failures,
    get texts() {
      return [...texts];
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(open);
      agent.destroy();
    },
  };
}
