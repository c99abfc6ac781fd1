// Operations on a sandbox, and their encoding in HTTP/1.1: from a worker's binding through the engine to the sandbox
// service, and from there to the agent inside the sandbox, with the same bodies on both hops. Pure.
import type { EgressChoice, MachineSize } from './options.ts';

// The service serves `POST /v1/projects/{project}/sandboxes/{resource}/{id}/{operation}`, with `SANDBOX_AUTH_TOKEN` as
// bearer token. The agent serves `POST /{operation}` for any client of its socket. Arguments are JSON in the body, or
// if the body is bytes (`raw`), in the header `sandbox-arguments`, encoded by encodeURIComponent; at the service the
// header `sandbox-options` has the options of the sandbox (options.ts). Responses are JSON, server-sent events, or
// bytes. A failure before the first byte is `{"error": {"code", "message"}}` with the status of core/errors.ts; after
// it the connection is cut.

/** Encoding of an operation's request and response. */
interface Shape {
  /** `raw` means bytes, with the arguments in a header. */
  readonly body: 'json' | 'raw';
  /**
   * `forwarded` means the response of a server in the sandbox, with its status and headers in the header
   * `sandbox-response`.
   */
  readonly answer: 'json' | 'events' | 'bytes' | 'forwarded';
  /** Whether the request body continues during the response. */
  readonly isDuplex?: true;
}

const json: Shape = { body: 'json', answer: 'json' };
const events: Shape = { body: 'json', answer: 'events' };

/** Operations of the agent. The arguments and results of each operation are in agent/operations.ts. */
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

/** Operations that only the service calls on the agent. */
export const privateOperations = { setAiAccess: json } as const;

/** Operations of the service itself. */
export const serviceOperations = {
  info: json,
  suspend: json,
  resume: json,
  stop: json,
  destroy: json,
  snapshot: { body: 'raw', answer: 'json' },
  fork: { body: 'raw', answer: 'json' },
  /** Deletes a snapshot by the snapshot's id. */
  deleteSnapshot: json,
} as const satisfies Readonly<Record<string, Shape>>;

/** Operations of the service itself for exposed ports. */
export const portOperations = { exposePort: json, unexposePort: json, listExposedPorts: json } as const;

export type AgentOperation = keyof typeof agentOperations;
export type PrivateOperation = keyof typeof privateOperations;
/** All operations of an agent. */
export type AskedOperation = AgentOperation | PrivateOperation;
export type ServiceOperation = keyof typeof serviceOperations;
export type PortOperation = keyof typeof portOperations;

/** Whether an operation's request body continues during its response. */
export function isDuplex(operation: AskedOperation): boolean {
  return (agentOperations as Readonly<Partial<Record<string, Shape>>>)[operation]?.isDuplex === true;
}

export function isAgentOperation(name: string): name is AgentOperation {
  return Object.hasOwn(agentOperations, name);
}

/** Encoding of an agent's operation; null means no such operation. */
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

/** Header with the arguments of an operation whose body is bytes. */
export const ARGUMENTS_HEADER = 'sandbox-arguments';
/**
 * Header with the response of a server in a sandbox, without its body: `{status, statusText, headers: [name,
 * value][]}`, encoded like the arguments.
 */
export const RESPONSE_HEADER = 'sandbox-response';

/**
 * Resource name of the sandboxes of builds, which no platform.yaml can use. The ids of these sandboxes are branches.
 */
export const BUILD_RESOURCE = '.build';

/** Folder of a sandbox's files, and working directory of commands. */
export const WORKSPACE = '/workspace';

/** Identifies a sandbox: project, resource in platform.yaml, and the id that the worker chose. */
export interface SandboxPlace {
  /** Namespace of the project. In `platform dev`, this is the namespace of the workspace. */
  readonly project: string;
  /** Name of the resource in platform.yaml, followed by the branch's slug for a preview (core/preview.ts). */
  readonly resource: string;
  readonly id: string;
}

/** States of a sandbox. */
export type SandboxState = 'creating' | 'running' | 'suspended' | 'stopped' | 'error';

/** A sandbox in `info` and `list`. */
export interface SandboxInfo {
  readonly id: string;
  readonly state: SandboxState;
  readonly provider: string;
  /** The requested machine; null means the operator's default. */
  readonly machine: MachineSize | null;
  readonly image: string | null;
  readonly egress: EgressChoice | null;
  readonly ai: boolean | null;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly lastActiveAt: number;
}

/** A snapshot in `listSnapshots`: the files of a sandbox. */
export interface SandboxSnapshot {
  readonly id: string;
  /** The original sandbox. */
  readonly of: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Size on disk. */
  readonly sizeBytes: number;
}
