// Which messenger a reply goes through: the one that came with the message, while the invocation that received it is
// there; else the one of `messengers` by platform; else none: the reply stands in the workspace then, and the log says
// so.
import type { AgentConfig, AgentEnv, Messenger } from './config-types.ts';
import { relayMessenger } from './relay.ts';

/** Of clients of the Model Context Protocol, who fetch their answers. */
export const MCP_PLATFORM = 'mcp';

/** Where replies go. */
export interface Chat {
  readonly platform: string;
  readonly chatId: string;
  /** The relay to the messenger that came with the message. */
  readonly relay?: string | undefined;
}

/** The messenger of a chat. */
export function messengerOf<Env extends AgentEnv>(
  config: AgentConfig<Env>,
  env: Env,
  { platform, chatId, relay }: Chat,
): Messenger {
  const make = hasMessenger(config, platform) ? config.messengers?.[platform] : undefined;
  const registered = make?.(env, chatId) ?? nowhere(platform, relay !== undefined);
  return relay === undefined ? registered : relayMessenger(env, relay, registered);
}

/** Whether replies of a platform reach a chat whatever became of the request that the message came with. */
export function hasMessenger<Env extends AgentEnv>({ messengers }: AgentConfig<Env>, platform: string): boolean {
  return messengers !== undefined && Object.hasOwn(messengers, platform);
}

/** What to write where there is no messenger. */
export function whatToWrite(platform: string): string {
  const name = /^[A-Za-z_$][\w$]*$/.test(platform) ? platform : JSON.stringify(platform);
  return `write messengers: { ${name}: (env, chatId) => ({ sendMessage, sendDocument, sendTypingIndicator }) } into createAgent`;
}

function nowhere(platform: string, hadLine: boolean): Messenger {
  const why = hadLine
    ? 'the request that the message came with has ended, and its messenger with it'
    : `the agent has no messenger for the platform "${platform}"`;
  const lost = (what: string): void =>
    platform === MCP_PLATFORM ? undefined : console.error(`${what} was not sent: ${why}; ${whatToWrite(platform)}`);
  return {
    sendMessage: async () => lost('A message of the agent'),
    sendDocument: async (_chatId, filename) => lost(`The document ${filename} of the agent`),
    sendTypingIndicator: async () => {},
  };
}
