// Resolved tools: the author's, the built-in ones and those of MCP servers in one shape. Created with the agent, so
// that an invalid definition fails the deployment and not a run.
import type { OutputOf } from '@platform-run/worker';
import { prepareSchema, type Checker } from '@platform-run/worker/schema';
import type { AgentEnv, AgentTool, ToolContext, ToolDefinition } from '../config-types.ts';
import type { Workspace } from '../workspace-types.ts';

/** Additional context of built-in tools. */
export interface InnerContext<Env extends AgentEnv = AgentEnv> extends ToolContext<Env> {
  readonly platform: string;
  /** Changes the workspace, if the run still owns it. */
  change<Result>(change: (workspace: Workspace) => Result): Promise<Result>;
  /** The current workspace. */
  read(): Promise<Workspace>;
}

/** A hook of a built-in tool, and its arguments after the context. */
export type HookCall =
  | readonly ['onMemorySet', string, boolean]
  | readonly ['onMemoryDelete', string]
  | readonly ['onArtifactCreated', string, string]
  | readonly ['onTaskScheduled', unknown];

/** A resolved tool. */
export interface ReadyTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly kind: 'built-in' | 'custom' | 'mcp';
  readonly timeoutMs: number;
  readonly retries: number;
  /** The arguments as parsed by the schema. @throws an error that the model can read. */
  check(args: unknown): Promise<unknown>;
  needsApproval(args: unknown): boolean;
  execute(args: never, ctx: InnerContext): Promise<string>;
  /** The hook for a call, from its arguments and its result. */
  hook?(args: never, result: string): HookCall | null;
}

/** An error for the model that a retry cannot fix. */
export function toolError(message: string): Error {
  return Object.assign(new Error(message), { name: 'NonRetryableError' });
}

const TIMEOUT_MS = 60_000;
const RETRIES = 2;

/** Names that all providers accept. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * A tool with typed arguments.
 *
 * @example
 * defineTool({
 *   name: 'weather',
 *   description: 'The weather of a city',
 *   parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
 *   execute: async ({ city }) => `Sunny in ${city}`,
 * });
 */
export function defineTool<const Parameters extends object, Env extends AgentEnv = AgentEnv>(
  definition: ToolDefinition<Parameters, Env>,
): ToolDefinition<Parameters, Env> {
  return definition;
}

/** Resolves the author's tool. @throws TypeError that names the problem. */
export function readyTool<Env extends AgentEnv>(tool: AgentTool<Env>): ReadyTool {
  const { name, description, parameters, timeoutMs = TIMEOUT_MS, retries = RETRIES, approval = false } = tool;
  if (typeof name !== 'string' || !NAME.test(name))
    throw new TypeError(`The tool name ${JSON.stringify(name)} must have 1 to 64 letters, digits, _ or -`);
  if (typeof description !== 'string') throw new TypeError(`The tool ${name} needs a description`);
  if (typeof tool.execute !== 'function') throw new TypeError(`The tool ${name} needs a function execute`);
  let schema: ReturnType<Checker['describe']>;
  let checker: Checker;
  try {
    checker = prepareSchema(parameters);
    schema = checker.describe('input');
  } catch (error) {
    throw new TypeError(`The parameters of the tool ${name}: ${(error as Error).message}`, { cause: error });
  }
  if (schema === null)
    throw new TypeError(`The schema of the tool ${name} cannot describe itself: write its parameters as JSON Schema`);
  return {
    name,
    description,
    parameters: schema,
    kind: 'custom',
    timeoutMs,
    retries,
    async check(args) {
      const checked = await checker.check(args);
      if (checked.issues === undefined) return checked.value;
      const issues = checked.issues.map(({ path, message }) => `${path.join('.') || 'arguments'} ${message}`);
      throw toolError(`Invalid arguments: ${issues.join('; ')}`);
    },
    needsApproval: (args) => (typeof approval === 'function' ? approval(args) : approval),
    execute: async (args, ctx) => tool.execute(args, ctx as unknown as ToolContext<Env>),
  };
}

/** Definition of a built-in tool. */
interface BuiltIn<Parameters> {
  readonly name: string;
  readonly description: string;
  readonly parameters: Parameters & object;
  execute(args: OutputOf<Parameters>, ctx: InnerContext): Promise<string>;
  hook?(args: OutputOf<Parameters>, result: string): HookCall | null;
}

/** Resolves a built-in tool. */
export function builtIn<const Parameters extends object>(definition: BuiltIn<Parameters>): ReadyTool {
  const ready = readyTool(definition as unknown as AgentTool);
  return { ...ready, kind: 'built-in', ...(definition.hook !== undefined && { hook: definition.hook as never }) };
}
