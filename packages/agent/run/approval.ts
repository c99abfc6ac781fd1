// Approval of a call by the user, which may take a day and survives restarts. Called by tool-step.ts.
import type { WorkflowStep } from '@platform-run/types';
import type { AgentEnv } from '../config-types.ts';
import type { ResolvedAgent } from '../resolved-agent.ts';
import { argumentsOf, callKey, changeOwn, findTool, ownWorkspace, type Scope } from '../tool-calls.ts';
import type { ToolCall } from '../workspace-types.ts';
import { durable } from './durable.ts';

const APPROVAL_TIMEOUT_MS = 24 * 60 * 60 * 1000;

/** Whether a call may run: asks the user if its tool requires it, and waits for the answer. */
export async function approvalOf<Env extends AgentEnv>(
  resolved: ResolvedAgent<Env>,
  scope: Scope<Env>,
  step: WorkflowStep,
  n: number,
  at: number,
  call: ToolCall,
): Promise<boolean | null> {
  const tool = resolved.config.tools?.find(({ name }) => name === call.function.name);
  if (tool?.approval === undefined || tool.approval === false) return true;
  const key = callKey(n, at);
  const event = `approval:${key}`;
  const id = `${n}.${at + 1}`;
  const asked = await durable(step, `approval_${n}`, async () => {
    const workspace = await ownWorkspace(scope);
    const ready = findTool(resolved.tools, call.function.name);
    let args: unknown;
    try {
      args = await argumentsOf(ready, call, key, workspace);
    } catch {
      return { isNeeded: false };
    }
    if (!ready.needsApproval(args)) return { isNeeded: false };
    const { name, arguments: text } = call.function;
    await changeOwn(scope, (current) => {
      const others = current.approvals.filter((pending) => pending.id !== id);
      const pending = { id, runId: scope.runId, event, tool: name, arguments: text, requestedAt: Date.now() };
      current.approvals = [...others, pending];
    });
    const question = `May I call ${name} with ${text.slice(0, 1000)}? It waits for your approval (${id}).`;
    await scope.messenger.sendMessage(scope.chatId, question, { idempotencyKey: `${scope.runId}:${event}` });
    return { isNeeded: true };
  });
  if (asked === null) return null;
  if (!asked.isNeeded) return true;
  let isApproved: boolean;
  try {
    const timeoutMs = resolved.config.approvalTimeoutMs ?? APPROVAL_TIMEOUT_MS;
    const { payload } = await step.waitForEvent<{ approved?: unknown }>(`approved_${n}`, { type: event, timeoutMs });
    isApproved = payload?.approved === true;
  } catch {
    isApproved = false;
  }
  // The `approve` command also removes the pending approval, but a question repeated after a crash may arrive after its
  // answer.
  const settled = await durable(step, `settled_${n}`, () =>
    changeOwn(scope, (current) => {
      current.approvals = current.approvals.filter((pending) => pending.id !== id);
      return true;
    }),
  );
  return settled === null ? null : isApproved;
}
