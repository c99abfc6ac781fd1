// The path where an agent serves the Model Context Protocol: authentication, then the response. Never open to everyone:
// without an authentication function, a bearer token is required. Called by agent.ts.
import type { AgentContext, AgentEnv, McpServing } from '../../config-types.ts';
import type { ResolvedAgent } from '../../resolved-agent.ts';
import { workspaceKey } from '../../workspaces.ts';
import { servedTo, servedTools } from './agent-tools.ts';
import { answerRpc, refuse } from './rpc.ts';

const TOKEN_NAME = 'AGENT_MCP_TOKEN';
const TOKEN_CHARS_LEAST = 16;
/** User id of clients with the token, who share a workspace. */
const TOKEN_USER = 'mcp';
const UNAUTHORISED = -32001;

/** An endpoint. */
interface McpEndpoint<Env extends AgentEnv> {
  readonly path: string;
  answer(request: Request, env: Env, agent: AgentContext<Env>): Promise<Response>;
}

/** The endpoint of an agent, if enabled. @throws TypeError that names the problem in its configuration. */
export function createMcpEndpoint<Env extends AgentEnv>(resolved: ResolvedAgent<Env>): McpEndpoint<Env> | null {
  const { mcpServer = false } = resolved.config;
  if (mcpServer === false) return null;
  const serving: McpServing<Env> = mcpServer === true ? {} : mcpServer;
  const { path = '/mcp', name = 'agent', authenticate } = serving;
  if (!path.startsWith('/')) throw new TypeError('mcpServer.path must begin with /');
  const tools = servedTools(resolved, resolved.config, serving);
  return {
    path,
    async answer(request, env, agent) {
      const userId = await (authenticate === undefined ? byToken(request, env) : authenticate(request, env));
      if (userId === null)
        return refuse(401, UNAUTHORISED, 'The caller must be authenticated', null, { 'www-authenticate': 'Bearer' });
      workspaceKey(userId);
      return answerRpc(request, servedTo(resolved, tools, name, userId, agent));
    },
  };
}

async function byToken(request: Request, env: unknown): Promise<string | null> {
  const token = (env as { vars?: Readonly<Record<string, string>> }).vars?.[TOKEN_NAME] ?? '';
  if (token.length < TOKEN_CHARS_LEAST) {
    console.warn(`The agent serves no MCP client: set ${TOKEN_NAME} to ${TOKEN_CHARS_LEAST} characters or more`);
    return null;
  }
  const [, given = ''] = /^Bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '') ?? [];
  return (await isSame(given, token)) ? TOKEN_USER : null;
}

/** Compares two texts in constant time, by their complete digests. */
async function isSame(given: string, wanted: string): Promise<boolean> {
  const [left, right] = await Promise.all([digest(given), digest(wanted)]);
  return left.reduce((different, byte, at) => different | (byte ^ right[at]!), 0) === 0;
}

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
}
