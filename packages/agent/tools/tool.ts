// Tools made ready: the author's, the built-in ones and those of MCP servers in one form. Built when the agent is
// created, so that a wrong definition fails the deployment and no run.
import type { OutputOf } from '@platform-run/worker';
import { prepareSchema, type Checker } from '@platform-run/worker/schema';
import type { AgentEnv, AgentTool, ToolContext, ToolDefinition } from '../config-types.ts';
import type { Workspace } from '../workspace-types.ts';

/** What built-in tools may do besides. */
export interface InnerContext<Env extends AgentEnv = AgentEnv> extends ToolContext<Env> {
  readonly platform: string;
  /** Changes the workspace, unless the run is no longer its own. */
  change<Result>(change: (workspace: Workspace) => Result): Promise<Result>;
  /** The workspace as it is now. */
  read(): Promise<Workspace>;
}

/** A hook that a built-in tool fires, and what it is handed after the context. */
export type HookCall =
  | readonly ['onMemorySet', string, boolean]
  | readonly ['onMemoryDelete', string]
  | readonly ['onArtifactCreated', string, string]
  | readonly ['onTaskScheduled', unknown];

/** A tool made ready. */
export interface ReadyTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly kind: 'built-in' | 'custom' | 'mcp';
  readonly timeoutMs: number;
  readonly retries: number;
  /** The arguments as the schema makes them. @throws an error that the model can read. */
  check(args: unknown): Promise<unknown>;
  needsApproval(args: unknown): boolean;
  execute(args: never, ctx: InnerContext): Promise<string>;
  /** What it fired, by its arguments and by what it returned. */
  hook?(args: never, result: string): HookCall | null;
}

/** Something that the model is told and that no further attempt can help. */
export class ToolError extends Error {
  override readonly name = 'NonRetryableError';
}

const TIMEOUT_MS = 60_000;
const RETRIES = 2;

/** Names that every provider accepts. */
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

/** The author's tool, ready. @throws TypeError that names what is wrong with it. */
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
      throw new ToolError(`Invalid arguments: ${issues.join('; ')}`);
    },
    needsApproval: (args) => (typeof approval === 'function' ? approval(args) : approval),
    execute: async (args, ctx) => tool.execute(args, ctx as unknown as ToolContext<Env>),
  };
}

/** What a built-in tool says of itself. */
interface BuiltIn<Parameters> {
  readonly name: string;
  readonly description: string;
  readonly parameters: Parameters & object;
  execute(args: OutputOf<Parameters>, ctx: InnerContext): Promise<string>;
  hook?(args: OutputOf<Parameters>, result: string): HookCall | null;
}

/** A built-in tool, ready. */
export function builtIn<const Parameters extends object>(definition: BuiltIn<Parameters>): ReadyTool {
  const ready = readyTool(definition as unknown as AgentTool);
  return { ...ready, kind: 'built-in', ...(definition.hook !== undefined && { hook: definition.hook as never }) };
}
