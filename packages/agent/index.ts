// Exports of `@platform-run/agent`.
export { createAgent, type AgentWorker } from './agent.ts';
export { defineTool } from './tools/tool.ts';
export type * from './config-types.ts';
export type * from './workspace-types.ts';
export type { RunInput } from './inbox.ts';
export type { RunResult } from './run/run-end.ts';
