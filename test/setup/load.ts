// Clients that keep asking while a test does something to the platform: each on connections of its own, and each answer
// counted.
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

/** What the clients have seen. */
export interface Load {
  readonly answers: number;
  /** Not the expected answer, or none: the reasons. */
  readonly failures: string[];
  /** Answers that announced the end of their connection. */
  readonly lastAnswers: number;
  /** Resolves when so many more answers are in. */
  more(count: number): Promise<void>;
  stop(): Promise<void>;
}

/**
 * @param keepAlive whether a client keeps its connection, or opens one for each request.
 * @param pauseMs between requests of a client: the platform has something else to do as well, what the test does to it.
 */
export function startLoad(options: {
  readonly port: number;
  readonly host: string;
  readonly text: string;
  readonly clients: number;
  readonly keepAlive: boolean;
  readonly pauseMs?: number;
}): Load {
  const { port, host, text, clients, keepAlive, pauseMs = 1 } = options;
  let stopped = false;
  const state = { answers: 0, failures: [] as string[], lastAnswers: 0 };
  const client = async (): Promise<void> => {
    const agent = new Agent({ keepAlive, maxSockets: 1 });
    while (!stopped) {
      const outcome = await new Promise<string>((resolve) => {
        const sent = request({ host: '127.0.0.1', port, agent, headers: { host } }, (response) => {
          if (response.headers.connection === 'close') state.lastAnswers++;
          let body = '';
          response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
          response.on('end', () => resolve(body === text ? '' : `${response.statusCode} ${body}`));
          response.on('error', (error) => resolve(error.message));
        });
        sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
        sent.end();
      });
      state.answers++;
      if (outcome !== '') state.failures.push(outcome);
      await pause(pauseMs);
    }
    agent.destroy();
  };
  const all = Promise.all(Array.from({ length: clients }, client));
  return {
    get answers() {
      return state.answers;
    },
    get failures() {
      return state.failures;
    },
    get lastAnswers() {
      return state.lastAnswers;
    },
    async more(count) {
      const goal = state.answers + count;
      while (state.answers < goal) await new Promise((resolve) => setTimeout(resolve, 5));
    },
    async stop() {
      stopped = true;
      await all;
    },
  };
}
