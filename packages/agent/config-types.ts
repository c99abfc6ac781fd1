// What `createAgent` takes, and what it hands to the author's code. No code.
import type {
  Ai,
  FileStorageBinding,
  StateBinding,
  StateManager,
  TimerBinding,
  WorkflowBinding,
} from '@platform-run/types';
import type { OutputOf, Schema } from '@platform-run/worker';
import type { MemoryEntry, ScheduledTask, Workspace } from './workspace-types.ts';

/** The bindings that `agentSDK: true` in platform.yaml adds. */
export interface AgentEnv {
  AI: Ai;
  PLATFORM_AGENT_STATE: StateBinding;
  PLATFORM_AGENT_FILES: FileStorageBinding;
  PLATFORM_AGENT_WORKFLOW: WorkflowBinding;
  PLATFORM_AGENT_SCHEDULER: TimerBinding;
}

/** How an agent talks to a chat. */
export interface Messenger {
  /** `idempotencyKey` is the same when a message is sent again after a crash. */
  sendMessage(chatId: string, text: string, options?: { idempotencyKey: string }): Promise<void>;
  sendDocument(chatId: string, filename: string, content: string | Uint8Array): Promise<void>;
  sendTypingIndicator(chatId: string): Promise<void>;
  sendPartialMessage?(chatId: string, partial: RunPartial): Promise<void>;
}

/** A part of an answer that is being generated. */
export interface RunPartial {
  /** The same for one turn of the assistant. */
  key: string;
  /** All so far. */
  text: string;
  /** What is new. */
  delta: string;
  /** Iteration of the loop, from 1. */
  step: number;
  isFinal: boolean;
}

/** What a tool is handed beside its arguments. */
export interface ToolContext<Env = AgentEnv> {
  readonly userId: string;
  readonly chatId: string;
  readonly env: Env;
  readonly state: StateManager;
  readonly messenger: Messenger;
  readonly runId: string;
  /** Iteration of the loop, from 1. */
  readonly step: number;
  readonly toolCallId: string;
  /** The same whenever this call is made again after a crash or a failure: hand it on to what must happen once. */
  readonly idempotencyKey: string;
  /** Aborted when the tool has used up its time. */
  readonly signal: AbortSignal;
  /** What the agent remembers of the user. */
  readonly memory: Readonly<Record<string, Readonly<MemoryEntry>>>;
}

/** A tool as the agent takes it: write it with `defineTool`, which types the arguments. */
export interface AgentTool<Env = AgentEnv> {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema, or a Standard Schema that can describe itself (zod 4.2, arktype). */
  readonly parameters: Schema;
  // oxlint-disable-next-line typescript/no-explicit-any -- `defineTool` says what they are
  execute(args: any, ctx: ToolContext<Env>): string | Promise<string>;
  /** Milliseconds an attempt may take; 60,000 by default. */
  readonly timeoutMs?: number;
  /**
   * Further attempts when it throws; 2 by default. After them the model is told the error. One named
   * `NonRetryableError` is told at once.
   */
  readonly retries?: number;
  /** Whether the user must agree to a call first. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  readonly approval?: boolean | ((args: any) => boolean);
}

/** The same with typed arguments. */
export interface ToolDefinition<Parameters, Env> extends AgentTool<Env> {
  readonly parameters: Parameters & Schema;
  execute(args: OutputOf<Parameters>, ctx: ToolContext<Env>): string | Promise<string>;
  readonly approval?: boolean | ((args: OutputOf<Parameters>) => boolean);
}

/** What hooks are handed first. */
export interface HookContext<Env = AgentEnv> {
  readonly userId: string;
  readonly chatId: string;
  readonly env: Env;
  readonly state: StateManager;
  /** Runs a tool. @throws when there is none of that name. */
  execute(toolName: string, args: unknown): Promise<string>;
}

/** Called while a run goes on; each is tried again when it throws, and never fails the run. */
export interface AgentHooks<Env = AgentEnv> {
  onRunPartial?(ctx: HookContext<Env>, partial: RunPartial): void | Promise<void>;
  onMemorySet?(ctx: HookContext<Env>, key: string, secret: boolean): void | Promise<void>;
  onMemoryDelete?(ctx: HookContext<Env>, key: string): void | Promise<void>;
  onArtifactCreated?(ctx: HookContext<Env>, filename: string, content: string): void | Promise<void>;
  onTaskScheduled?(ctx: HookContext<Env>, task: ScheduledTask): void | Promise<void>;
  /** `reason` is `max_steps` where the loop was stopped. */
  onRunComplete?(ctx: HookContext<Env>, response: string, reason: 'reply' | 'max_steps'): void | Promise<void>;
  onRunError?(ctx: HookContext<Env>, error: Error): void | Promise<void>;
}

/** When the older part of a conversation is replaced by a summary. */
export interface ContextCompression {
  /** False by default. */
  enabled?: boolean;
  /** Estimated tokens of a prompt beyond which it happens; 16,000 by default. */
  maxTokens?: number;
  /** The agent's model by default. */
  summaryModel?: string;
  /** 12 by default; the cut is before a message of the user. */
  preserveRecentMessages?: number;
  /** With `{summary}` and `{messages}`. */
  summaryPrompt?: string;
}

/** Whether answers are handed on while they are generated. */
export interface StreamingOptions {
  enabled?: boolean;
  /** Least time between partials, in milliseconds; 250 by default. */
  throttleMs?: number;
  /** Fewest new characters of a partial; 1 by default. */
  minCharsDelta?: number;
  /** Longest `text` of a partial; 100,000 by default. */
  maxPartialLength?: number;
}

/** A message for the agent. */
export interface IncomingMessage {
  userId: string;
  chatId: string;
  platform: string;
  text: string;
  /**
   * Gets what the run says: the reply, typing, documents and partial answers. The request that the message came with is
   * held open for it, four minutes at most; what is said later goes through `messengers`.
   */
  messenger?: Messenger;
}

/** What became of a message. */
export interface RunHandle {
  /** The run that answers it; the one it waits for where it is `queued`. */
  readonly runId: string;
  readonly queued: boolean;
  /** Of the message in the history. */
  readonly messageId: string;
}

/** Operations for `handle` to call; each resolves to the reply for the user. */
export interface AgentCommands {
  /** Deletes all that is kept of the user, ends the run and removes scheduled tasks. */
  reset(userId: string, chatId: string): Promise<string>;
  /** Turns debug mode on or off: the user sees each call of a tool. */
  debug(userId: string, chatId: string): Promise<string>;
  listTools(userId: string): Promise<string>;
  /**
   * Installs a server with a manifest, or one that speaks the Model Context Protocol over streamable HTTP. `headers`,
   * such as `authorization`, go with every request to it.
   */
  installMcp(
    userId: string,
    chatId: string,
    url: string,
    options?: { headers?: Record<string, string> },
  ): Promise<string>;
  uninstallMcp(userId: string, name: string): Promise<string>;
  /** Ends the active run; the next queued message is taken. */
  cancel(userId: string, chatId: string): Promise<string>;
  /** Lets a call go ahead that waits for approval: by its id, or the oldest. */
  approve(userId: string, approvalId?: string): Promise<string>;
  deny(userId: string, approvalId?: string): Promise<string>;
}

/** The third argument of `handle`. */
export interface AgentContext<Env = AgentEnv> {
  handleMessage(message: IncomingMessage): Promise<RunHandle>;
  readonly commands: AgentCommands;
  /** What is kept of a user, secrets masked; null when nothing is. */
  workspace(userId: string): Promise<Workspace | null>;
  readonly state: StateManager;
  readonly env: Env;
}

/** How an agent is served to clients of the Model Context Protocol. */
export interface McpServing<Env = AgentEnv> {
  /** `/mcp` by default. */
  path?: string;
  /** As clients show it; `agent` by default. */
  name?: string;
  /**
   * The id of the user that a request comes from; null refuses it. Without this, requests must carry the value of the
   * project's variable `AGENT_MCP_TOKEN` as bearer token, and all come from the user `mcp`.
   */
  authenticate?(request: Request, env: Env): string | null | Promise<string | null>;
  /** Names of the tools of `tools` that clients may call; all without `approval` by default. */
  tools?: readonly string[];
}

/** What `createAgent` takes. */
export interface AgentConfig<Env extends AgentEnv = AgentEnv> {
  /** Sent on every turn; memories and the summary are appended. */
  systemPrompt: string | ((userId: string) => string | Promise<string>);
  /** Answers all requests but the health check. */
  handle(request: Request, env: Env, agent: AgentContext<Env>): Response | Promise<Response>;
  /** `auto` by default. */
  model?: string;
  contextCompression?: ContextCompression;
  streaming?: StreamingOptions;
  /** Built-in tools; all on by default. */
  features?: { memory?: boolean; artifacts?: boolean; scheduling?: boolean; mcp?: boolean };
  tools?: readonly AgentTool<Env>[];
  hooks?: AgentHooks<Env>;
  /** Calls of the model in one run; 30 by default, 100 at most. */
  maxSteps?: number;
  /**
   * How replies reach a chat, by the `platform` of its messages, where no `messenger` came with the message or the
   * request that it came with has ended: after a restart, a long run or an approval, and of scheduled tasks.
   */
  messengers?: Readonly<Record<string, (env: Env, chatId: string) => Messenger>>;
  /** Path of the health check, `/health` by default (`/healthz` too); false: `handle` gets these requests as well. */
  health?: { path: string } | false;
  /** Serves the agent and its tools to clients of the Model Context Protocol; off by default. */
  mcpServer?: boolean | McpServing<Env>;
  /** Milliseconds an answer of the model may take; 120,000 by default. */
  modelTimeoutMs?: number;
  /** Milliseconds a call waits for approval before it counts as denied; a day by default. */
  approvalTimeoutMs?: number;
}
