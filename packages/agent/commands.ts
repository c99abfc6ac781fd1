// Commands that `handle` may offer users (`/reset` and similar). Each command returns the text of a reply.
import type { AgentCommands, AgentEnv } from './config-types.ts';
import { nextRunId, startRun, takeNext } from './inbox.ts';
import { findServer } from './mcp/install.ts';
import type { ResolvedAgent } from './resolved-agent.ts';
import { listTools } from './tool-calls.ts';
import { timerPrefix } from './tools/schedules.ts';
import type { Workspace } from './workspace-types.ts';
import { changeWorkspace, emptyWorkspace, readWorkspace, workspaceKey } from './workspaces.ts';

const SERVERS_MAX = 20;

interface Ended {
  readonly ended: string | null;
  readonly workspace: Workspace | null;
}

/** The commands of an agent, for one invocation. */
export function createCommands<Env extends AgentEnv>(resolved: ResolvedAgent<Env>, env: Env): AgentCommands {
  const state = env.PLATFORM_AGENT_STATE;
  const workflow = env.PLATFORM_AGENT_WORKFLOW;

  const decide = async (userId: string, approvalId: string | undefined, approved: boolean): Promise<string> => {
    const workspace = await readWorkspace(state, userId);
    const found = workspace?.approvals.find(({ id }) => approvalId === undefined || id === approvalId);
    if (found === undefined)
      return approvalId === undefined
        ? 'There are no pending approvals.'
        : `There is no pending approval "${approvalId}".`;
    // The event is sent first, because it can be sent again after a crash between the two steps.
    await workflow.sendEvent(found.runId, { type: found.event, payload: { approved } });
    await changeWorkspace(state, userId, (current) => {
      if (current === null) return [undefined, undefined];
      current.approvals = current.approvals.filter(
        ({ event, runId }) => event !== found.event || runId !== found.runId,
      );
      return [current, undefined];
    });
    return `${approved ? 'Approved' : 'Denied'}: ${found.tool}.`;
  };

  return {
    async reset(userId) {
      const workspace = await readWorkspace(state, userId);
      // The workspace is deleted first: without it, the run makes no further changes, and no timer starts another run.
      await state.delete(workspaceKey(userId));
      if (workspace?.activeRunId != null) await workflow.cancel(workspace.activeRunId).catch(() => {});
      const scheduler = env.PLATFORM_AGENT_SCHEDULER;
      for (;;) {
        const { timers } = await scheduler.list({ prefix: timerPrefix(userId) });
        if (timers.length === 0) break;
        for (const { id } of timers) await scheduler.delete(id);
      }
      return 'History, memory, settings and scheduled tasks are deleted.';
    },
    async debug(userId, chatId) {
      const isOn = await changeWorkspace(state, userId, (current) => {
        const workspace = current ?? emptyWorkspace(userId, chatId, '');
        workspace.debugMode = !workspace.debugMode;
        return [workspace, workspace.debugMode];
      });
      return isOn ? 'Debug mode enabled.' : 'Debug mode disabled.';
    },
    async listTools(userId) {
      return listTools(resolved, await readWorkspace(state, userId));
    },
    async installMcp(userId, chatId, url, { headers } = {}) {
      if (resolved.config.features?.mcp === false) return 'MCP servers are turned off for this agent.';
      let found: Awaited<ReturnType<typeof findServer>>;
      try {
        found = await findServer(url, headers);
      } catch (error) {
        return `Not installed: ${(error as Error).message}`;
      }
      const { server, leftOut } = found;
      return changeWorkspace(state, userId, (current) => {
        const workspace = current ?? emptyWorkspace(userId, chatId, '');
        const others = workspace.mcpServers.filter(({ name }) => name !== server.name);
        if (others.length >= SERVERS_MAX)
          return [undefined, `Not installed: there are ${SERVERS_MAX} MCP servers already.`];
        workspace.mcpServers = [...others, server];
        const names = server.tools.map(({ name }) => name).join(', ');
        const rest = leftOut > 0 ? ` (${leftOut} more are left out)` : '';
        return [workspace, `Installed ${server.name} with tools: ${names || 'none'}${rest}`];
      });
    },
    uninstallMcp(userId, name) {
      return changeWorkspace(state, userId, (current) => {
        if (current === null || !current.mcpServers.some((server) => server.name === name))
          return [undefined, `MCP server "${name}" is not installed.`];
        current.mcpServers = current.mcpServers.filter((server) => server.name !== name);
        return [current, `Uninstalled ${name}.`];
      });
    },
    async cancel(userId) {
      const { ended, workspace } = await changeWorkspace<Ended>(state, userId, (current) => {
        const runId = current?.activeRunId ?? null;
        if (current === null || runId === null) return [undefined, { ended: null, workspace: null }];
        takeNext(current, nextRunId(runId), resolved.isCompressed);
        return [current, { ended: runId, workspace: current }];
      });
      if (ended === null) return 'Nothing is running.';
      await workflow.cancel(ended).catch(() => {});
      if (workspace !== null) await startRun(workflow, workspace);
      return 'Run cancelled.';
    },
    approve: (userId, approvalId) => decide(userId, approvalId, true),
    deny: (userId, approvalId) => decide(userId, approvalId, false),
  };
}
