// An agent's stored data of a user, as in the state. No code.

/** A tool call of the model. Additional fields of a provider are kept. */
export interface ToolCall {
  id: string;
  type: 'function';
  /** `arguments` is JSON text. */
  function: { name: string; arguments: string };
  [extra: string]: unknown;
}

/** A message of the user, or of a scheduled task. */
export interface UserMessage {
  role: 'user';
  content: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  /** True if a scheduled task wrote the message. */
  scheduled?: boolean;
  /** As given to `handleMessage`. */
  id?: string;
}

/** An answer of the model. */
export interface AssistantMessage {
  role: 'assistant';
  content: string | null;
  tool_calls?: ToolCall[];
  timestamp: number;
  model?: string;
  /** True for the text that is sent after a failed run. */
  isError?: boolean;
  /** The run that created the answer, and the iteration in that run. */
  runId?: string;
  step?: number;
  [extra: string]: unknown;
}

/** The result of a tool. */
export interface ToolMessage {
  role: 'tool';
  content: string;
  tool_call_id: string;
  name: string;
  timestamp: number;
  isError?: boolean;
  runId?: string;
}

/** A message of the history. */
export type ChatMessage = UserMessage | AssistantMessage | ToolMessage;

/** A message that arrived while a run was active. */
export interface QueuedMessage {
  text: string;
  timestamp: number;
  /** Destination of the answer to this message. */
  chatId?: string;
  platform?: string;
  scheduled?: boolean;
  id?: string;
  /** Id of the relay to the messenger of this message. */
  relay?: string;
}

/** A memory of a user. */
export interface MemoryEntry {
  value: string;
  /** For a secret, the model sees `[SECRET]`, and gets the value only if it calls `memory_get`. */
  secret: boolean;
  createdAt: number;
}

/** A task started by a timer. */
export interface ScheduledTask {
  id: string;
  description: string;
  /** When the task is next due, in milliseconds since 1970. */
  scheduledTime: number;
  recurring: boolean;
  intervalMs?: number;
  cron?: string;
  timezone?: string;
}

/** A tool of an MCP server. */
export interface McpTool {
  name: string;
  description: string;
  /** A JSON Schema. */
  parameters: Record<string, unknown>;
}

/** An installed MCP server. */
export interface McpServer {
  name: string;
  url: string;
  tools: McpTool[];
  transport: 'manifest' | 'streamable-http';
  /** Version of the Model Context Protocol, for a server of that protocol. */
  protocolVersion?: string;
  sessionId?: string;
  /** Headers that are sent with every request; secret. */
  headers?: Record<string, string>;
  installedAt: number;
  /** Reason why the last call failed; removed by the next successful call. */
  lastError?: string;
}

/** A tool call that waits for approval. */
export interface PendingApproval {
  id: string;
  runId: string;
  /** Type of the event that the run awaits. */
  event: string;
  tool: string;
  /** JSON, secrets masked. */
  arguments: string;
  requestedAt: number;
}

/** All data of a user: `agent:workspace:<userId>` in the state. */
export interface Workspace {
  userId: string;
  chatId: string;
  platform: string;
  messages: ChatMessage[];
  conversationSummary: string | null;
  memory: Record<string, MemoryEntry>;
  mcpServers: McpServer[];
  debugMode: boolean;
  /** Null when idle. */
  activeRunId: string | null;
  queue: QueuedMessage[];
  scheduledTasks: ScheduledTask[];
  approvals: PendingApproval[];
  /** Relay to the messenger of the message that the active run answers. */
  relay?: string;
  /** When each task last fired: a timer that is delivered twice starts one run. */
  fired?: Record<string, number>;
  /** Values of pending `memory_set` calls, by `<step>:<call>`: they are never in the history of a run. */
  pendingSecrets?: Record<string, string>;
}
