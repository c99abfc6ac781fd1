// The relay to a message's own messenger. That messenger works only in the invocation that received the message, while
// the run is another invocation, perhaps on another machine. So the output of the run waits in the state, and the first
// invocation, which is kept open, passes it to the messenger. Called by agent.ts (opens, serves) and messengers.ts
// (sends).
import type { FileStorageBinding, StateBinding } from '@platform-run/types';
import type { AgentEnv, Messenger, RunPartial } from './config-types.ts';

/** A message of the run for the messenger. */
interface Said {
  readonly id: string;
  readonly method: keyof Messenger;
  /** The arguments, without the content of a document, which is in the file storage. */
  readonly args: readonly unknown[];
  readonly content?: 'text' | 'bytes';
}

/** A relay in the state. */
interface Relay {
  /** Messages that are not forwarded yet, in order. */
  said: Said[];
  /** Messages that are being forwarded. */
  taken: string[];
  /** Results that the run waits for: null, or the reason of the failure. */
  done: Record<string, string | null>;
  /** Whether the first invocation has stopped forwarding messages. */
  isOver: boolean;
  readonly hasPartials: boolean;
}

/** Timeouts of each side, in milliseconds. */
interface RelayTimes {
  /** Maximum time that an invocation is kept open. A request may take five minutes. */
  readonly heldMs: number;
  /** Interval of checking for a run to wait for. */
  readonly lookMs: number;
  /** If no message is taken for this long, the invocation has ended. */
  readonly takenMs: number;
  /** If a taken message is not finished after this long, the invocation has ended. */
  readonly doneMs: number;
}

const TIMES: RelayTimes = { heldMs: 240_000, lookMs: 5000, takenMs: 15_000, doneMs: 60_000 };
const PAUSE_MS_LEAST = 25;
const PAUSE_MS_MOST = 1000;
/** A relay that was not removed, for example after a crash, expires. */
const KEPT_SECONDS = 3600;
const ATTEMPTS_MAX = 100;

type Bindings = Pick<AgentEnv, 'PLATFORM_AGENT_STATE' | 'PLATFORM_AGENT_FILES'>;

const relayKey = (id: string): string => `agent:relay:${id}`;
const fileKey = (relay: string, id: string): string => `agent-relay:${relay}/${id}`;

/** Opens a relay to a messenger. @returns the id of the turn, which is stored with the message. */
export async function openRelay({ PLATFORM_AGENT_STATE: state }: Bindings, messenger: Messenger): Promise<string> {
  const id = crypto.randomUUID();
  const relay: Relay = {
    said: [],
    taken: [],
    done: {},
    isOver: false,
    hasPartials: messenger.sendPartialMessage !== undefined,
  };
  await state.setJSON(relayKey(id), relay, { expirationTtl: KEPT_SECONDS });
  return id;
}

/** Removes a relay, which ends `serveRelay`. */
export async function closeRelay({ PLATFORM_AGENT_STATE: state }: Bindings, id: string): Promise<void> {
  await state.delete(relayKey(id));
}

/** Passes messages to the messenger until the relay is closed, or no run is left that could send a message. */
export async function serveRelay(
  bindings: Bindings,
  id: string,
  messenger: Messenger,
  isWaitedFor: () => Promise<boolean>,
  times: RelayTimes = TIMES,
): Promise<void> {
  const { PLATFORM_AGENT_STATE: state, PLATFORM_AGENT_FILES: files } = bindings;
  const until = Date.now() + times.heldMs;
  /** Ids of sent messages: a message that a run repeats after a crash is not sent twice. */
  const sent = new Set<string>();
  let lookedAt = Date.now();
  let heardAt = Date.now();
  let unawaited = 0;
  for (;;) {
    const isLate = Date.now() >= until;
    const heard = await changeRelay(state, id, (relay) => {
      if (relay === null) return [undefined, null];
      const { said } = relay;
      if (said.length === 0 && !isLate) return [undefined, said];
      // After this, the run sends its messages through another messenger.
      if (isLate) return [{ ...relay, isOver: true }, null];
      return [{ ...relay, said: [], taken: said.map((one) => one.id) }, said];
    });
    if (heard === null) return;
    if (heard.length > 0) {
      const done: Record<string, string | null> = {};
      for (const one of heard) {
        const why = await handOver(files, id, messenger, one, sent);
        if (isAwaited(one.method)) done[one.id] = why;
        else if (why !== null) console.warn(`The agent continues after an error: ${why}`);
      }
      await changeRelay(state, id, (relay) =>
        relay === null ? [undefined, null] : [{ ...relay, taken: [], done: { ...relay.done, ...done } }, null],
      );
      heardAt = Date.now();
      continue;
    }
    if (Date.now() - lookedAt >= times.lookMs) {
      // The relay closes after the second check without a run, because the notice about a lost run is sent after the
      // run has ended.
      unawaited = (await isWaitedFor()) ? 0 : unawaited + 1;
      if (unawaited === 2) return closeRelay(bindings, id);
      lookedAt = Date.now();
    }
    // The pause grows with the waiting time: an answer that takes ten seconds may arrive a second late.
    const pause = Math.min(Math.max((Date.now() - heardAt) / 10, PAUSE_MS_LEAST), PAUSE_MS_MOST);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** @returns the reason of a failure; null on success. */
async function handOver(
  files: FileStorageBinding,
  relay: string,
  messenger: Messenger,
  { id, method, args, content }: Said,
  sent: Set<string>,
): Promise<string | null> {
  try {
    const [, , options] = args as [unknown, unknown, { idempotencyKey?: string } | null | undefined];
    const key = method === 'sendMessage' ? options?.idempotencyKey : undefined;
    if (key !== undefined && sent.has(key)) return null;
    const given = [...args];
    if (content !== undefined) {
      const file = await files.get(fileKey(relay, id));
      if (file === null) throw new Error('the content of the document is gone');
      given.push(content === 'text' ? await file.text() : await file.bytes());
      await files.delete(fileKey(relay, id));
    }
    await (messenger[method] as ((...all: unknown[]) => Promise<void>) | undefined)?.apply(messenger, given);
    if (key !== undefined) sent.add(key);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Whether the run waits for the completion of a call. */
function isAwaited(method: keyof Messenger): boolean {
  return method === 'sendMessage' || method === 'sendDocument';
}

/** A messenger that sends over a relay; over `otherwise` if the relay is no longer served. */
export function relayMessenger(
  { PLATFORM_AGENT_STATE: state, PLATFORM_AGENT_FILES: files }: Bindings,
  relay: string,
  otherwise: Messenger,
  times: RelayTimes = TIMES,
): Messenger {
  /**
   * @returns whether the messenger received the message; messages that are not awaited count as received. @throws
   * errors of the messenger.
   */
  const say = async (said: Said): Promise<boolean> => {
    const isLeft = await changeRelay(state, relay, (current) => {
      if (current === null || current.isOver) return [undefined, false];
      if (said.method === 'sendPartialMessage' && !current.hasPartials) return [undefined, true];
      return [{ ...current, said: appended(current.said, said) }, true];
    });
    return isLeft && (!isAwaited(said.method) || settled(said.id));
  };

  const settled = async (id: string): Promise<boolean> => {
    const from = Date.now();
    for (;;) {
      const current = await state.getJSON<Relay>(relayKey(relay));
      if (current === null) return false;
      if (Object.hasOwn(current.done, id)) {
        const why = current.done[id]!;
        if (why !== null) throw new Error(why);
        return true;
      }
      const isTaken = current.taken.includes(id);
      const waited = Date.now() - from;
      if ((current.isOver && !isTaken) || waited > times.takenMs + (isTaken ? times.doneMs : 0)) {
        const isOut = await changeRelay(state, relay, (now) => {
          // The message was taken or finished in the meantime.
          if (now === null) return [undefined, true];
          if (Object.hasOwn(now.done, id) || now.taken.includes(id) !== isTaken) return [undefined, false];
          return [{ ...now, isOver: true, said: now.said.filter((one) => one.id !== id) }, true];
        });
        if (isOut) return false;
        continue;
      }
      const pause = Math.min(Math.max(waited / 10, PAUSE_MS_LEAST), PAUSE_MS_MOST);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  };

  const newId = (): string => crypto.randomUUID();
  return {
    async sendMessage(...args) {
      if (!(await say({ id: newId(), method: 'sendMessage', args }))) await otherwise.sendMessage(...args);
    },
    async sendDocument(chatId, filename, content) {
      const id = newId();
      await files.put(fileKey(relay, id), content);
      const said: Said = {
        id,
        method: 'sendDocument',
        args: [chatId, filename],
        content: typeof content === 'string' ? 'text' : 'bytes',
      };
      if (await say(said)) return;
      await files.delete(fileKey(relay, id));
      await otherwise.sendDocument(chatId, filename, content);
    },
    async sendTypingIndicator(chatId) {
      const said: Said = { id: newId(), method: 'sendTypingIndicator', args: [chatId] };
      if (!(await say(said))) await otherwise.sendTypingIndicator(chatId);
    },
    async sendPartialMessage(chatId, partial) {
      const said: Said = { id: newId(), method: 'sendPartialMessage', args: [chatId, partial] };
      if (!(await say(said))) await otherwise.sendPartialMessage?.(chatId, partial);
    },
  };
}

/** Merges pending partial answers of one turn. */
function appended(said: readonly Said[], next: Said): Said[] {
  const last = said.at(-1);
  if (next.method !== 'sendPartialMessage' || last?.method !== 'sendPartialMessage') return [...said, next];
  const [chatId, partial] = next.args as [string, RunPartial];
  const [lastChat, before] = last.args as [string, RunPartial];
  if (lastChat !== chatId || before.key !== partial.key) return [...said, next];
  const both: RunPartial = { ...partial, delta: before.delta + partial.delta };
  return [...said.slice(0, -1), { ...next, args: [chatId, both] }];
}

/** Changes a relay; the function may be called again if the other side changed it in the meantime. */
async function changeRelay<Result>(
  state: StateBinding,
  id: string,
  change: (relay: Relay | null) => readonly [Relay | undefined, Result],
): Promise<Result> {
  const key = relayKey(id);
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const { value, version } = await state.getWithMetadata(key);
    const [relay, result] = change(value === null ? null : (JSON.parse(value) as Relay));
    if (relay === undefined) return result;
    const options = { expirationTtl: KEPT_SECONDS };
    if (await state.compareAndSet(key, value === null ? null : version, JSON.stringify(relay), options)) return result;
    await new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(attempt * 5, 100)));
  }
  throw new Error(`The relay to the messenger was not changed: ${ATTEMPTS_MAX} attempts met concurrent changes`);
}
