// Hooks of the author, each a step that cannot fail the run, and output of debug mode. Used by this whole folder.
import type { WorkflowStep } from '@platform-run/types';
import type { AgentEnv, HookContext } from '../config-types.ts';
import type { ResolvedAgent } from '../resolved-agent.ts';
import { findTool, runTool, type Scope } from '../tool-calls.ts';
import type { HookCall } from '../tools/tool.ts';
import type { ToolCall } from '../workspace-types.ts';
import { readWorkspace } from '../workspaces.ts';
import { optional } from './durable.ts';

/** Shows a call in debug mode. */
export async function showCall<Env extends AgentEnv>(
  scope: Scope<Env>,
  step: WorkflowStep,
  n: number,
  { function: { name, arguments: args } }: ToolCall,
  result: { readonly content: string },
): Promise<void> {
  await optional(step, scope.runId, `debug_${n}`, async () => {
    const text = `[debug] ${name}(${args.slice(0, 500)}) -> ${result.content.slice(0, 500)}`;
    await scope.messenger.sendMessage(scope.chatId, text);
  });
}

/** Fires a hook of a built-in tool, with the tool's arguments except secrets. */
export async function fire<Env extends AgentEnv>(
  resolved: ResolvedAgent<Env>,
  scope: Scope<Env>,
  step: WorkflowStep,
  n: number,
  [name, ...args]: HookCall,
): Promise<void> {
  const hook = resolved.config.hooks?.[name] as ((ctx: HookContext<Env>, ...args: unknown[]) => unknown) | undefined;
  if (hook === undefined) return;
  await optional(step, scope.runId, `hook_${name}`, async () => {
    await hook.call(resolved.config.hooks, hookContext(resolved, scope, n), ...args);
  });
}

/** First argument of a hook. */
export function hookContext<Env extends AgentEnv>(
  resolved: ResolvedAgent<Env>,
  scope: Scope<Env>,
  n: number,
): HookContext<Env> {
  const { userId, chatId, env } = scope;
  return {
    userId,
    chatId,
    env,
    state: env.PLATFORM_AGENT_STATE,
    async execute(toolName, args) {
      const workspace = await readWorkspace(env.PLATFORM_AGENT_STATE, userId);
      const tool = findTool(resolved.toolsOf(workspace), toolName);
      const key = `hook:${n}:${toolName}`;
      return runTool(scope, tool, await tool.check(args), { step: n, toolCallId: key, key });
    },
  };
}
