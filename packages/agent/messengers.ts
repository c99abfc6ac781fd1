// Which messenger a reply goes through: one of `messengers` by platform, else the live one that came with the message,
// else none: the reply stands in the workspace then, and the log says so.
import type { AgentConfig, AgentEnv, Messenger } from './config-types.ts';

/** Live messengers of this isolate. */
export interface LiveMessengers {
  keep(platform: string, chatId: string, messenger: Messenger): void;
  find(platform: string, chatId: string): Messenger | undefined;
}

const LIVE_MAX = 1000;
/** Of clients of the Model Context Protocol, who fetch their answers. */
export const MCP_PLATFORM = 'mcp';

/** Those of an agent; the oldest go first. */
export function createLiveMessengers(): LiveMessengers {
  const live = new Map<string, Messenger>();
  const keyOf = (platform: string, chatId: string): string => JSON.stringify([platform, chatId]);
  return {
    keep(platform, chatId, messenger) {
      const key = keyOf(platform, chatId);
      live.delete(key);
      live.set(key, messenger);
      if (live.size > LIVE_MAX) live.delete(live.keys().next().value!);
    },
    find: (platform, chatId) => live.get(keyOf(platform, chatId)),
  };
}

/** The messenger of a chat. */
export function messengerOf<Env extends AgentEnv>(
  { messengers }: AgentConfig<Env>,
  live: LiveMessengers,
  env: Env,
  platform: string,
  chatId: string,
): Messenger {
  const make = messengers !== undefined && Object.hasOwn(messengers, platform) ? messengers[platform] : undefined;
  const found = make?.(env, chatId) ?? live.find(platform, chatId);
  if (found !== undefined) return found;
  const warn = (what: string): void =>
    platform === MCP_PLATFORM
      ? undefined
      : console.warn(
          `The agent has no messenger for the platform "${platform}": ${what} was not sent. Name one in messengers of createAgent`,
        );
  return {
    sendMessage: async () => warn('a message'),
    sendDocument: async (_chatId, filename) => warn(`the document ${filename}`),
    sendTypingIndicator: async () => {},
  };
}
