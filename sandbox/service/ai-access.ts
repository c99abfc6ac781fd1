// Which sandboxes have a token of the AI gateway: those that run. Each gets a new one when it starts to run and after
// 45 minutes, in a file of its agent's; when it no longer runs, the file goes and no token of it is good any more. One
// call at a time for a machine (sandboxes.ts). What fails here is reported and tried again: calls go on without AI.
import type { Duplex } from 'node:stream';
import type { PrivateOperation } from '#core/sandbox/operations.ts';
import { askAgent } from '../routes/agent-request.ts';
import type { AiTokens } from './ai-tokens.ts';

/** A token lives for an hour, and programs read the new one before that. */
const ROTATE_MS = 45 * 60_000;
/** After a failure, or an answer that there is none. */
const RETRY_MS = 60_000;
/** An agent that does not answer holds up the calls of its own sandbox alone, and not for long. */
const AGENT_MS = 15_000;

/** What it takes. */
export interface AiAccessParts {
  readonly tokens: AiTokens;
  /** Where commands in a machine reach the gateway. */
  readonly url: string;
  connect(key: string): Promise<Duplex>;
  now?(): number;
  report(message: string): void;
}

export interface AiAccess {
  /** Sees to it that a machine that runs has a token that is good for a while. Does nothing where that is so. */
  refresh(key: string): Promise<void>;
  /** Its machine is about to stand still: takes the file away. */
  withdraw(key: string): Promise<void>;
  /** Its machine no longer runs, or is about to go. */
  end(key: string): Promise<void>;
  /** Nothing is known of its machine any more: the next `refresh` makes a token. */
  forget(key: string): void;
}

export function createAiAccess({ tokens, url, connect, now = Date.now, report }: AiAccessParts): AiAccess {
  /** When a machine needs a token again. */
  const dueAt = new Map<string, number>();

  async function tell(key: string, fields: { readonly url: string; readonly token: string } | null): Promise<void> {
    const signal = AbortSignal.timeout(AGENT_MS);
    const operation: PrivateOperation = 'setAiAccess';
    const answer = await askAgent(await connect(key), {
      operation,
      args: null,
      body: [Buffer.from(JSON.stringify(fields ?? {}))],
      signal,
    });
    answer.resume();
    if (answer.statusCode !== 200) throw new Error(`its agent answers ${answer.statusCode}`);
  }

  async function reported(what: string, key: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      report(`${what} of sandbox ${key}: ${(error as Error).message}`);
    }
  }

  async function end(key: string): Promise<void> {
    dueAt.delete(key);
    await reported('end of the AI tokens', key, () => tokens.revoke(key));
  }

  return {
    async refresh(key) {
      if (now() < (dueAt.get(key) ?? 0)) return;
      dueAt.set(key, now() + RETRY_MS);
      await reported('AI token', key, async () => {
        const token = await tokens.issue(key);
        if (token === null) return;
        await tell(key, { url, token });
        dueAt.set(key, now() + ROTATE_MS);
      });
    },
    async withdraw(key) {
      // One that does not answer keeps a file with a token that is over.
      await tell(key, null).catch(() => {});
      await end(key);
    },
    end,
    forget: (key) => void dueAt.delete(key),
  };
}
