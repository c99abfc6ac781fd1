// One tool call of a run: parses and validates arguments, runs the tool with its context, limits the result and
// removes secrets. Called by the steps of run/.
import type { AgentEnv, Messenger } from './config-types.ts';
import type { ResolvedAgent } from './resolved-agent.ts';
import { conceal, revealAll, SECRET } from './secrets.ts';
import { toolError, type InnerContext, type ReadyTool } from './tools/tool.ts';
import type { MemoryEntry, ToolCall, Workspace } from './workspace-types.ts';
import { changeWorkspace, readWorkspace, Superseded } from './workspaces.ts';

/** The run, its user, and the destination of its replies. */
export interface Scope<Env extends AgentEnv> {
  readonly env: Env;
  readonly userId: string;
  readonly chatId: string;
  readonly platform: string;
  readonly runId: string;
  readonly messenger: Messenger;
  /** Relay to the message's own messenger. */
  readonly relay?: string | undefined;
}

const RESULT_CHARS_MAX = 64 * 1024;

/** The workspace of a run. @throws Superseded if the run no longer owns the workspace. */
export async function ownWorkspace<Env extends AgentEnv>({ env, userId, runId }: Scope<Env>): Promise<Workspace> {
  const workspace = await readWorkspace(env.PLATFORM_AGENT_STATE, userId);
  if (workspace?.activeRunId !== runId) throw new Superseded();
  return workspace;
}

/** Changes the workspace of a run. @throws Superseded as above. */
export function changeOwn<Env extends AgentEnv, Result>(
  { env, userId, runId }: Scope<Env>,
  change: (workspace: Workspace) => Result,
): Promise<Result> {
  return changeWorkspace(env.PLATFORM_AGENT_STATE, userId, (workspace) => {
    if (workspace?.activeRunId !== runId) throw new Superseded();
    const result = change(workspace);
    return [workspace, result];
  });
}

/** The validated arguments of a call. @throws an error that the model can read. */
export async function argumentsOf(
  tool: ReadyTool,
  call: ToolCall,
  key: string,
  { memory, pendingSecrets = {} }: Workspace,
): Promise<unknown> {
  let args: unknown;
  try {
    args = call.function.arguments.trim() === '' ? {} : JSON.parse(call.function.arguments);
  } catch {
    throw toolError('Invalid arguments: not JSON');
  }
  args = revealAll(args, memory);
  if (tool.name === 'memory_set' && Object.hasOwn(pendingSecrets, key))
    (args as Record<string, unknown>)['value'] = pendingSecrets[key];
  return tool.check(args);
}

/** Finds the tool of a call. @throws an error for the model if there is no such tool. */
export function findTool(tools: readonly ReadyTool[], name: string): ReadyTool {
  const tool = tools.find((known) => known.name === name);
  if (tool === undefined) throw toolError(`There is no tool "${name}"`);
  return tool;
}

/** Runs a tool. Errors and results of the tool contain no secrets. */
export async function runTool<Env extends AgentEnv>(
  scope: Scope<Env>,
  tool: ReadyTool,
  args: unknown,
  { step, toolCallId, key }: { step: number; toolCallId: string; key: string },
): Promise<string> {
  const workspace = await ownWorkspace(scope);
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error(`The tool ${tool.name} took too long`)), tool.timeoutMs);
  const ctx: InnerContext<Env> = {
    ...scope,
    state: scope.env.PLATFORM_AGENT_STATE,
    step,
    toolCallId,
    idempotencyKey: `${scope.runId}:${key}`,
    signal: controller.signal,
    memory: workspace.memory,
    change: (change) => changeOwn(scope, change),
    read: () => ownWorkspace(scope),
  };
  try {
    const result: unknown = await tool.execute(args as never, ctx as unknown as InnerContext);
    const text = typeof result === 'string' ? result : (JSON.stringify(result) ?? '');
    return conceal(bounded(text), (await ownWorkspace(scope)).memory);
  } catch (error) {
    if (error instanceof Superseded) throw error;
    const { name, message } = error instanceof Error ? error : { name: 'Error', message: String(error) };
    const made = new Error(conceal(message.slice(0, 4000), workspace.memory));
    made.name = name;
    throw made;
  } finally {
    clearTimeout(timer);
  }
}

/** Truncates a result that is too long. */
export function bounded(text: string): string {
  if (text.length <= RESULT_CHARS_MAX) return text;
  return `${text.slice(0, RESULT_CHARS_MAX)}\n[The result has ${text.length} characters; the rest was left out]`;
}

/**
 * Calls as stored: without values of secrets. Secrets of `memory_set` are returned separately, by the keys of the
 * calls: they stay in the workspace until the call is completed.
 */
export function concealCalls(
  calls: readonly ToolCall[],
  step: number,
  memory: Readonly<Record<string, MemoryEntry>>,
): { calls: ToolCall[]; pending: Record<string, string>; memory: Record<string, MemoryEntry> } {
  const pending: Record<string, string> = {};
  const known = { ...memory };
  const masked = calls.map((call, at) => {
    if (call.function.name !== 'memory_set') return call;
    let args: unknown;
    try {
      args = JSON.parse(call.function.arguments);
    } catch {
      return call;
    }
    const { key, value, secret } = (args ?? {}) as { key?: unknown; value?: unknown; secret?: unknown };
    if (secret !== true || typeof value !== 'string') return call;
    pending[callKey(step, at)] = value;
    if (typeof key === 'string') known[`${key}`] = { value, secret: true, createdAt: 0 };
    const text = JSON.stringify({ ...(args as object), value: SECRET });
    return { ...call, function: { ...call.function, arguments: text } };
  });
  const concealed = masked.map((call) => ({
    ...call,
    function: { ...call.function, arguments: conceal(call.function.arguments, known) },
  }));
  return { calls: concealed, pending, memory: known };
}

/** Key of a call within its run. */
export function callKey(step: number, at: number): string {
  return `${step}:${at}`;
}

/** The names of all tools, for the user. */
export function listTools<Env extends AgentEnv>(resolved: ResolvedAgent<Env>, workspace: Workspace | null): string {
  const kinds = { 'built-in': 'Built-in', custom: 'Custom' } as const;
  const groups = Object.entries(kinds).map(([kind, title]) => {
    const names = resolved.tools.filter((tool) => tool.kind === kind).map(({ name }) => name);
    return names.length === 0 ? null : `${title}: ${names.join(', ')}`;
  });
  const servers = resolved.config.features?.mcp === false ? [] : (workspace?.mcpServers ?? []);
  const lines = servers.map(({ name, tools }) => `MCP (${name}): ${tools.map((tool) => tool.name).join(', ')}`);
  return [...groups.filter((line) => line !== null), ...lines].join('\n') || 'There are no tools.';
}
