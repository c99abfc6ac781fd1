// What can be asked of a sandbox, and how it travels as HTTP/1.1: from a worker's binding over the engine to the
// sandbox service, and from there to the agent inside the sandbox, with the same bodies on both ways. Pure.
import type { EgressChoice, MachineSize } from './options.ts';

// At the service: `POST /v1/projects/{project}/sandboxes/{resource}/{id}/{operation}`, with `SANDBOX_AUTH_TOKEN` as
// bearer. At the agent: `POST /{operation}`, for whoever reaches its socket. Arguments are JSON: the body, or where
// that is bytes (`raw`) the header `sandbox-arguments`, encoded by encodeURIComponent; at the service the header
// `sandbox-options` says what the sandbox is to be made of (options.ts). Answers are JSON, server-sent events, or
// bytes. A failure before the first byte is `{"error": {"code", "message"}}` with the status of core/errors.ts; after
// it the connection is cut.

/** How an operation's request and answer are formed. */
interface Shape {
  /** `raw`: bytes, with the arguments in a header. */
  readonly body: 'json' | 'raw';
  /** `forwarded`: what a server in the sandbox said, its head in the header `sandbox-response`. */
  readonly answer: 'json' | 'events' | 'bytes' | 'forwarded';
  /** The body goes on while the answer comes. */
  readonly isDuplex?: true;
}

const json: Shape = { body: 'json', answer: 'json' };
const events: Shape = { body: 'json', answer: 'events' };

/** What the agent does. agent/operations.ts has the arguments and answers of each. */
export const agentOperations = {
  exec: json,
  execStream: events,
  startProcess: json,
  listProcesses: json,
  getProcess: json,
  getProcessLogs: json,
  streamProcessLogs: events,
  killProcess: json,
  readFile: { body: 'json', answer: 'bytes' },
  writeFile: { body: 'raw', answer: 'json' },
  deleteFile: json,
  moveFile: json,
  mkdir: json,
  listFiles: json,
  exists: json,
  watch: events,
  setEnvVars: json,
  gitCheckout: json,
  waitForPort: json,
  fetch: { body: 'raw', answer: 'forwarded', isDuplex: true },
  connect: { body: 'raw', answer: 'bytes', isDuplex: true },
  /** Frames both ways (terminal-frames.ts). */
  terminal: { body: 'raw', answer: 'bytes', isDuplex: true },
} as const satisfies Readonly<Record<string, Shape>>;

/** What the service asks of the agent, and nobody of the service. */
export const privateOperations = { setAiAccess: json } as const;

/** What the service does by itself. */
export const serviceOperations = {
  info: json,
  suspend: json,
  resume: json,
  stop: json,
  destroy: json,
  snapshot: { body: 'raw', answer: 'json' },
  fork: { body: 'raw', answer: 'json' },
  /** Of a snapshot, by its own id. */
  deleteSnapshot: json,
} as const satisfies Readonly<Record<string, Shape>>;

/** What the service does by itself for exposed ports. */
export const portOperations = { exposePort: json, unexposePort: json, listExposedPorts: json } as const;

export type AgentOperation = keyof typeof agentOperations;
export type PrivateOperation = keyof typeof privateOperations;
/** All that an agent is asked. */
export type AskedOperation = AgentOperation | PrivateOperation;
export type ServiceOperation = keyof typeof serviceOperations;
export type PortOperation = keyof typeof portOperations;

/** Whether an operation's body goes on while its answer comes. */
export function isDuplex(operation: AskedOperation): boolean {
  return (agentOperations as Readonly<Partial<Record<string, Shape>>>)[operation]?.isDuplex === true;
}

export function isAgentOperation(name: string): name is AgentOperation {
  return Object.hasOwn(agentOperations, name);
}

/** How one is formed that an agent is asked; null: there is no such one. */
export function askedShape(name: string): Shape | null {
  if (isAgentOperation(name)) return agentOperations[name];
  return Object.hasOwn(privateOperations, name) ? privateOperations[name as PrivateOperation] : null;
}

export function isServiceOperation(name: string): name is ServiceOperation {
  return Object.hasOwn(serviceOperations, name);
}

export function isPortOperation(name: string): name is PortOperation {
  return Object.hasOwn(portOperations, name);
}

/** Arguments of an operation whose body is bytes. */
export const ARGUMENTS_HEADER = 'sandbox-arguments';
/** `{status, statusText, headers: [name, value][]}` of a server in a sandbox, encoded as the arguments are. */
export const RESPONSE_HEADER = 'sandbox-response';

/** The resource of the sandboxes that builds run in: no platform.yaml can have this name. Their ids are branches. */
export const BUILD_RESOURCE = '.build';

/** Where a sandbox's files lie, and commands begin. */
export const WORKSPACE = '/workspace';

/** Which sandbox: of a project, under a resource of its platform.yaml, by the id that the worker chose. */
export interface SandboxPlace {
  /** Namespace of the project (that of the workspace in `platform dev`). */
  readonly project: string;
  /** Its name in platform.yaml; of a preview with the branch's slug (core/preview.ts). */
  readonly resource: string;
  readonly id: string;
}

/** What a sandbox can be. */
export type SandboxState = 'creating' | 'running' | 'suspended' | 'stopped' | 'error';

/** A sandbox as `info` and `list` say it. */
export interface SandboxInfo {
  readonly id: string;
  readonly state: SandboxState;
  readonly provider: string;
  /** What was asked for; null: as the operator has it. */
  readonly machine: MachineSize | null;
  readonly image: string | null;
  readonly egress: EgressChoice | null;
  readonly ai: boolean | null;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly lastActiveAt: number;
}

/** A snapshot as `listSnapshots` says it: the files that a sandbox had. */
export interface SandboxSnapshot {
  readonly id: string;
  /** The sandbox it was taken of. */
  readonly of: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** What it takes on the disk. */
  readonly sizeBytes: number;
}
