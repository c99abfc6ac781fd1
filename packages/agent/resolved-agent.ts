// The resolved configuration of an agent, created once by agent.ts and passed to its modules.
import { checkConfig } from './config-check.ts';
import type { AgentConfig, AgentEnv } from './config-types.ts';
import { mcpTools } from './mcp/tools.ts';
import { artifactTools } from './tools/artifacts.ts';
import { memoryTools } from './tools/memory.ts';
import { scheduleTools } from './tools/schedules.ts';
import { readyTool, type ReadyTool } from './tools/tool.ts';
import type { Workspace } from './workspace-types.ts';

/** An agent's resolved configuration. */
export interface ResolvedAgent<Env extends AgentEnv> {
  readonly config: AgentConfig<Env>;
  readonly model: string;
  readonly maxSteps: number;
  readonly isCompressed: boolean;
  /** All tools except those of MCP servers. */
  readonly tools: readonly ReadyTool[];
  /** All tools of a user. */
  toolsOf(workspace: Workspace | null): readonly ReadyTool[];
}

const STEPS = 30;

/** @throws TypeError that names the problem in the configuration. */
export function resolveAgent<Env extends AgentEnv>(config: AgentConfig<Env>): ResolvedAgent<Env> {
  checkConfig(config);
  const { model = 'auto', maxSteps = STEPS, features = {}, contextCompression } = config;
  const { memory = true, artifacts = true, scheduling = true, mcp = true } = features;
  const tools = [
    ...(config.tools ?? []).map((tool) => readyTool(tool)),
    ...(memory ? memoryTools : []),
    ...(artifacts ? artifactTools : []),
    ...(scheduling ? scheduleTools : []),
  ];
  const names = new Set(mcp ? ['mcp_call_tool'] : []);
  for (const { name } of tools) {
    if (names.has(name)) throw new TypeError(`Two tools have the name ${name}`);
    names.add(name);
  }
  return {
    config,
    model,
    maxSteps,
    isCompressed: contextCompression?.enabled === true,
    tools,
    toolsOf: (workspace) =>
      mcp && workspace !== null
        ? [...tools, ...mcpTools(workspace.mcpServers).filter(({ name }) => !tools.some((tool) => tool.name === name))]
        : tools,
  };
}

/** @throws an error that names the missing bindings. */
export function checkEnv(env: AgentEnv): void {
  for (const name of [
    'PLATFORM_AGENT_STATE',
    'PLATFORM_AGENT_FILES',
    'PLATFORM_AGENT_WORKFLOW',
    'PLATFORM_AGENT_SCHEDULER',
  ] as const)
    if (env[name] === undefined)
      throw new Error(`The agent needs the binding ${name}: write "agentSDK: true" into platform.yaml`);
}
