// What an agent keeps of a user, as it lies in the state. No code.

/** A tool that the model wants called. Fields that a provider adds are kept. */
export interface ToolCall {
  id: string;
  type: 'function';
  /** `arguments` is JSON text. */
  function: { name: string; arguments: string };
  [extra: string]: unknown;
}

/** What the user wrote, or a scheduled task said. */
export interface UserMessage {
  role: 'user';
  content: string;
  /** Milliseconds since 1970, as below. */
  timestamp: number;
  /** Of a scheduled task. */
  scheduled?: boolean;
  /** As `handleMessage` said it. */
  id?: string;
}

/** What the model answered. */
export interface AssistantMessage {
  role: 'assistant';
  content: string | null;
  tool_calls?: ToolCall[];
  timestamp: number;
  model?: string;
  /** What the user was told when the run failed. */
  isError?: boolean;
  /** The run that it belongs to, and the iteration of that. */
  runId?: string;
  step?: number;
  [extra: string]: unknown;
}

/** What a tool returned. */
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

/** A message that came while a run was active. */
export interface QueuedMessage {
  text: string;
  timestamp: number;
  /** Where its answer goes. */
  chatId?: string;
  platform?: string;
  scheduled?: boolean;
  id?: string;
  /** To the messenger that came with it. */
  relay?: string;
}

/** Something the agent remembers of a user. */
export interface MemoryEntry {
  value: string;
  /** The model sees `[SECRET]`, and the value only where it asks for it with `memory_get`. */
  secret: boolean;
  createdAt: number;
}

/** A task that a timer starts. */
export interface ScheduledTask {
  id: string;
  description: string;
  /** When it is due (next), in milliseconds since 1970. */
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
  /** Of the Model Context Protocol, as below. */
  protocolVersion?: string;
  sessionId?: string;
  /** Sent with every request; secret. */
  headers?: Record<string, string>;
  installedAt: number;
  /** Why its last call failed; gone with the next that does not. */
  lastError?: string;
}

/** A call of a tool that waits for the user's word. */
export interface PendingApproval {
  id: string;
  runId: string;
  /** Type of the event that the run waits for. */
  event: string;
  tool: string;
  /** JSON, secrets masked. */
  arguments: string;
  requestedAt: number;
}

/** All that an agent keeps of a user: `agent:workspace:<userId>` in the state. */
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
  /** To the messenger that came with the message which the active run answers. */
  relay?: string;
  /** When each task fired last: a timer that is delivered twice starts one run. */
  fired?: Record<string, number>;
  /** Values of `memory_set` calls under way, by `<step>:<call>`: the history of a run never has them. */
  pendingSecrets?: Record<string, string>;
}
