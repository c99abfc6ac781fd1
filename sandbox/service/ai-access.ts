// Gives running sandboxes a token for the AI gateway. Each sandbox gets a new token when it starts and every 45
// minutes, in a file written by its agent. When a sandbox stops, the file is deleted and its tokens are revoked. Calls
// for one machine are serialized (leases.ts). Failures are reported and retried: calls continue without AI.
import type { Duplex } from 'node:stream';
import type { PrivateOperation } from '#core/sandbox/operations.ts';
import { askAgent } from '../routes/agent-request.ts';
import type { AiTokens } from './ai-tokens.ts';

/** A token is valid for an hour; programs read the new token before it expires. */
const ROTATE_MS = 45 * 60_000;
/** Retry delay after a failure, or if the sandbox gets no token. */
const RETRY_MS = 60_000;
/** Timeout, so that an unresponsive agent delays only its own sandbox, and only briefly. */
const AGENT_MS = 15_000;

/** Dependencies. */
interface AiAccessDeps {
  readonly tokens: AiTokens;
  /** URL of the gateway for commands in a machine. */
  readonly url: string;
  connect(key: string): Promise<Duplex>;
  now?(): number;
  report(message: string): void;
}

export interface AiAccess {
  /** Ensures that a running machine has a token valid for some time. */
  refresh(key: string): Promise<void>;
  /** Deletes the file before the machine is suspended. */
  withdraw(key: string): Promise<void>;
  /** Revokes the tokens of a machine that has stopped or will be destroyed. */
  end(key: string): Promise<void>;
  /** Forgets a machine: the next `refresh` creates a token. */
  forget(key: string): void;
}

export function createAiAccess({ tokens, url, connect, now = Date.now, report }: AiAccessDeps): AiAccess {
  /** The time at which a machine needs a new token. */
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
      // If the agent does not answer, the file remains, but its token is revoked.
      await tell(key, null).catch(() => {});
      await end(key);
    },
    end,
    forget: (key) => void dueAt.delete(key),
  };
}
