// Selects the messenger of a reply: the messenger of the message, while the invocation that received it runs; else the
// messenger for its platform in `messengers`; else none, in which case the reply is only in the workspace, and the log
// reports it.
import type { AgentConfig, AgentEnv, Messenger } from './config-types.ts';
import { relayMessenger } from './relay.ts';

/** Platform of Model Context Protocol clients, which fetch their answers. */
export const MCP_PLATFORM = 'mcp';

/** Destination of replies. */
interface Chat {
  readonly platform: string;
  readonly chatId: string;
  /** The relay to the message's own messenger. */
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

/** Whether replies of a platform reach a chat independently of the message's request. */
export function hasMessenger<Env extends AgentEnv>({ messengers }: AgentConfig<Env>, platform: string): boolean {
  return messengers !== undefined && Object.hasOwn(messengers, platform);
}

/** Log text for a reply that has no messenger. */
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
