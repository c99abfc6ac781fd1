// The steps for an answer's tool calls: one for each call, and one that stores them with the answer. Called by
// run.ts.
import type { WorkflowStep } from '@platform-run/types';
import type { AgentEnv } from '../config-types.ts';
import type { ResolvedAgent } from '../resolved-agent.ts';
import { conceal } from '../secrets.ts';
import { argumentsOf, callKey, changeOwn, findTool, ownWorkspace, runTool, type Scope } from '../tool-calls.ts';
import type { AssistantMessage, ToolCall, ToolMessage } from '../workspace-types.ts';
import { approvalOf } from './approval.ts';
import { durable } from './durable.ts';
import { fire } from './hooks.ts';

/** Result of a call; null if the run was superseded. */
type CallResult = { readonly content: string; readonly isError: boolean } | null;

const CALLS_MAX = 32;
const DENIED = 'Error: The user did not approve this call.';

/** Runs one call, after approval by the user if required. */
export async function callTool<Env extends AgentEnv>(
  resolved: ResolvedAgent<Env>,
  scope: Scope<Env>,
  step: WorkflowStep,
  n: number,
  at: number,
  call: ToolCall,
): Promise<CallResult> {
  if (at >= CALLS_MAX) return failure(`An answer may call ${CALLS_MAX} tools`);
  const key = callKey(n, at);
  const { name } = call.function;
  const known = resolved.tools.find((tool) => tool.name === name);
  const approved = await approvalOf(resolved, scope, step, n, at, call);
  if (approved === null) return null;
  if (!approved) return { content: DENIED, isError: true };
  let result: CallResult;
  try {
    // The calls of an answer share a step name, which the workflow numbers: `tools_1`, `tools_1#2`.
    const done = await durable(
      step,
      `tools_${n}`,
      async () => {
        const workspace = await ownWorkspace(scope);
        const tool = findTool(resolved.toolsOf(workspace), name);
        const args = await argumentsOf(tool, call, key, workspace);
        // Identifies the call for readers of the run.
        return { call: call.id, content: await runTool(scope, tool, args, { step: n, toolCallId: call.id, key }) };
      },
      { retries: known?.retries ?? 2, timeoutMs: known?.timeoutMs ?? 60_000 },
    );
    if (done === null) return null;
    result = { content: done.content, isError: false };
  } catch (error) {
    result = failure((error as Error).message);
  }
  if (!result.isError && known?.hook !== undefined) {
    const fired = known.hook(JSON.parse(call.function.arguments || '{}') as never, result.content);
    if (fired !== null) await fire(resolved, scope, step, n, fired);
  }
  return result;
}

function failure(message: string): { content: string; isError: boolean } {
  return { content: `Error: ${message}`, isError: true };
}

/** Stores the answer and its tool results together: a history never has calls without results. */
export function saveStep<Env extends AgentEnv>(
  scope: Scope<Env>,
  reply: AssistantMessage,
  results: readonly ToolMessage[],
): Promise<true> {
  return changeOwn(scope, (workspace) => {
    const { memory, messages } = workspace;
    const isSaved = messages.some(
      (message) => message.role === 'assistant' && message.runId === scope.runId && message.step === reply.step,
    );
    delete workspace.pendingSecrets;
    workspace.approvals = [];
    if (isSaved) return true;
    const calls = (reply.tool_calls ?? []).map((call) => ({
      ...call,
      function: { ...call.function, arguments: conceal(call.function.arguments, memory) },
    }));
    const content = reply.content === null ? null : conceal(reply.content, memory);
    messages.push({ ...reply, content, tool_calls: calls });
    for (const result of results) messages.push({ ...result, content: conceal(result.content, memory) });
    return true;
  });
}
