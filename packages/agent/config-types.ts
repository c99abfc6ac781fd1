// Options of `createAgent`, and arguments of the author's code. No code.
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

/** Sends an agent's replies to a chat. */
export interface Messenger {
  /** `idempotencyKey` is the same when a message is sent again after a crash. */
  sendMessage(chatId: string, text: string, options?: { idempotencyKey: string }): Promise<void>;
  sendDocument(chatId: string, filename: string, content: string | Uint8Array): Promise<void>;
  sendTypingIndicator(chatId: string): Promise<void>;
  sendPartialMessage?(chatId: string, partial: RunPartial): Promise<void>;
}

/** A partial answer while it is generated. */
export interface RunPartial {
  /** Identifies the turn of the assistant: the same for all its partial answers. */
  key: string;
  /** The whole text so far. */
  text: string;
  /** The new text. */
  delta: string;
  /** Iteration of the loop, from 1. */
  step: number;
  isFinal: boolean;
}

/** Argument of tools besides their own arguments. */
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
  /**
   * The same whenever this call is repeated after a crash or a failure: pass it to operations that must happen once.
   */
  readonly idempotencyKey: string;
  /** Aborted when the tool's timeout has passed. */
  readonly signal: AbortSignal;
  /** The agent's memories of the user. */
  readonly memory: Readonly<Record<string, Readonly<MemoryEntry>>>;
}

/** A tool of the agent: define it with `defineTool`, which types the arguments. */
export interface AgentTool<Env = AgentEnv> {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema, or a Standard Schema that can describe itself (zod 4.2, arktype). */
  readonly parameters: Schema;
  // oxlint-disable-next-line typescript/no-explicit-any -- `defineTool` has the types of the arguments
  execute(args: any, ctx: ToolContext<Env>): string | Promise<string>;
  /** Timeout of an attempt in milliseconds; 60,000 by default. */
  readonly timeoutMs?: number;
  /**
   * Retries when the tool throws; 2 by default. After these attempts, the model gets the error. An error named
   * `NonRetryableError` is not retried.
   */
  readonly retries?: number;
  /** Whether the user must approve a call first. */
  // oxlint-disable-next-line typescript/no-explicit-any -- `defineTool` has the types of the arguments
  readonly approval?: boolean | ((args: any) => boolean);
}

/** A tool with typed arguments. */
export interface ToolDefinition<Parameters, Env> extends AgentTool<Env> {
  readonly parameters: Parameters & Schema;
  execute(args: OutputOf<Parameters>, ctx: ToolContext<Env>): string | Promise<string>;
  readonly approval?: boolean | ((args: OutputOf<Parameters>) => boolean);
}

/** First argument of hooks. */
export interface HookContext<Env = AgentEnv> {
  readonly userId: string;
  readonly chatId: string;
  readonly env: Env;
  readonly state: StateManager;
  /** Runs a tool. @throws if no tool has that name. */
  execute(toolName: string, args: unknown): Promise<string>;
}

/** Called during a run; each callback is retried when it throws, and never fails the run. */
export interface AgentHooks<Env = AgentEnv> {
  onRunPartial?(ctx: HookContext<Env>, partial: RunPartial): void | Promise<void>;
  onMemorySet?(ctx: HookContext<Env>, key: string, secret: boolean): void | Promise<void>;
  onMemoryDelete?(ctx: HookContext<Env>, key: string): void | Promise<void>;
  onArtifactCreated?(ctx: HookContext<Env>, filename: string, content: string): void | Promise<void>;
  onTaskScheduled?(ctx: HookContext<Env>, task: ScheduledTask): void | Promise<void>;
  /** `reason` is `max_steps` if the loop was stopped. */
  onRunComplete?(ctx: HookContext<Env>, response: string, reason: 'reply' | 'max_steps'): void | Promise<void>;
  onRunError?(ctx: HookContext<Env>, error: Error): void | Promise<void>;
}

/** Says when a summary replaces the older part of a conversation. */
export interface ContextCompression {
  /** False by default. */
  enabled?: boolean;
  /** Estimated prompt tokens above which older messages are summarized; 16,000 by default. */
  maxTokens?: number;
  /** The model that writes summaries; the agent's model by default. */
  summaryModel?: string;
  /** 12 by default. The history is cut before a message of the user. */
  preserveRecentMessages?: number;
  /** A prompt that contains `{summary}` and `{messages}`. */
  summaryPrompt?: string;
}

/** Whether partial answers are sent while they are generated. */
export interface StreamingOptions {
  enabled?: boolean;
  /** Minimum time between partials, in milliseconds; 250 by default. */
  throttleMs?: number;
  /** Minimum number of new characters of a partial; 1 by default. */
  minCharsDelta?: number;
  /** Maximum length of a partial's `text`; 100,000 by default. */
  maxPartialLength?: number;
}

/** A message for the agent. */
export interface IncomingMessage {
  userId: string;
  chatId: string;
  platform: string;
  text: string;
  /**
   * Receives the output of the run: the reply, typing, documents and partial answers. The request that brought the
   * message is kept open for it, for at most four minutes; later output goes through `messengers`.
   */
  messenger?: Messenger;
}

/** Result of sending a message. */
export interface RunHandle {
  /** The run that answers the message; if the message is `queued`, the run that it waits for. */
  readonly runId: string;
  readonly queued: boolean;
  /** Id of the message in the history. */
  readonly messageId: string;
}

/** Commands for `handle`; each resolves to the reply for the user. */
export interface AgentCommands {
  /** Deletes all data of the user, ends the run and removes scheduled tasks. */
  reset(userId: string, chatId: string): Promise<string>;
  /** Toggles debug mode, in which the user sees each tool call. */
  debug(userId: string, chatId: string): Promise<string>;
  listTools(userId: string): Promise<string>;
  /**
   * Installs a server with a manifest, or a server that supports the Model Context Protocol over streamable HTTP.
   * `headers`, such as `authorization`, are sent with every request to it.
   */
  installMcp(
    userId: string,
    chatId: string,
    url: string,
    options?: { headers?: Record<string, string> },
  ): Promise<string>;
  uninstallMcp(userId: string, name: string): Promise<string>;
  /** Ends the active run and starts the next queued message. */
  cancel(userId: string, chatId: string): Promise<string>;
  /** Approves a waiting call: by its id, or the oldest. */
  approve(userId: string, approvalId?: string): Promise<string>;
  deny(userId: string, approvalId?: string): Promise<string>;
}

/** The third argument of `handle`. */
export interface AgentContext<Env = AgentEnv> {
  handleMessage(message: IncomingMessage): Promise<RunHandle>;
  readonly commands: AgentCommands;
  /** Stored data of a user, secrets masked; null without any. */
  workspace(userId: string): Promise<Workspace | null>;
  readonly state: StateManager;
  readonly env: Env;
}

/** Serves an agent to clients of the Model Context Protocol. */
export interface McpServing<Env = AgentEnv> {
  /** `/mcp` by default. */
  path?: string;
  /** Display name in clients; `agent` by default. */
  name?: string;
  /**
   * The user id for a request; null refuses it. Without this function, requests must have the project's variable
   * `AGENT_MCP_TOKEN` as bearer token, and all belong to the user `mcp`.
   */
  authenticate?(request: Request, env: Env): string | null | Promise<string | null>;
  /** Names of the tools in `tools` that clients may call; all without `approval` by default. */
  tools?: readonly string[];
}

/** Options of `createAgent`. */
export interface AgentConfig<Env extends AgentEnv = AgentEnv> {
  /** The prompt that the model gets in every turn, before the memories and the summary. */
  systemPrompt: string | ((userId: string) => string | Promise<string>);
  /** Handles all requests except the health check. */
  handle(request: Request, env: Env, agent: AgentContext<Env>): Response | Promise<Response>;
  /** `auto` by default. */
  model?: string;
  contextCompression?: ContextCompression;
  streaming?: StreamingOptions;
  /** Built-in tools; all on by default. */
  features?: { memory?: boolean; artifacts?: boolean; scheduling?: boolean; mcp?: boolean };
  tools?: readonly AgentTool<Env>[];
  hooks?: AgentHooks<Env>;
  /** Model calls per run; 30 by default, 100 at most. */
  maxSteps?: number;
  /**
   * Messengers for replies, by the `platform` of a message. The agent uses them if the message had no `messenger` or
   * its request has ended: after a restart, a long run or an approval, and for scheduled tasks.
   */
  messengers?: Readonly<Record<string, (env: Env, chatId: string) => Messenger>>;
  /**
   * Path of the health check, by default `/health` (also `/healthz`); with false, `handle` receives these requests as
   * well.
   */
  health?: { path: string } | false;
  /** Serves the agent and its tools to clients of the Model Context Protocol; off by default. */
  mcpServer?: boolean | McpServing<Env>;
  /** Timeout for an answer of the model in milliseconds; 120,000 by default. */
  modelTimeoutMs?: number;
  /** Milliseconds after which a call waiting for approval is denied; a day by default. */
  approvalTimeoutMs?: number;
}
