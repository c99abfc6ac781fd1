// Every bound in one place: default, unit in the name, and the environment variable that overrides it. Pure.
import { cpuLimitVariable, defaultCpuLimits, invocationKinds, plans, type CpuLimits } from './plans.ts';

/** Bounds of the handler. Bytes, milliseconds and counts as the name says; 0 turns a limit off only where said so. */
export interface Limits {
  /** Request URL (414). */
  readonly urlBytesMax: number;
  /** Request headers, names and values (431). */
  readonly headerBytesMax: number;
  /** Request body (413). */
  readonly bodyBytesMax: number;
  /** Request bodies up to this size reach the worker together with the request. */
  readonly inlineBodyBytesMax: number;
  /** Bytes in flight on one stream over the bridge before the sender waits. */
  readonly streamWindowBytes: number;
  /** Idle keep-alive connection. */
  readonly idleMs: number;
  /** Heap of one isolate. */
  readonly isolateMemoryMb: number;
  /**
   * What an engine holds for one deployment outside of its isolates: compressors, streams, sockets, calls under way.
   */
  readonly hostMemoryMb: number;
  /** What it holds so for all of them; above it, by a quarter at most, each project has its share. */
  readonly engineHostMemoryMb: number;
  /** Live isolates in one engine. */
  readonly isolatesMax: number;
  /** Resident memory of an engine above which idle isolates go. */
  readonly engineMemoryMb: number;
  /** Top-level code of a worker; 0 = off. */
  readonly startupCpuMs: number;
  /** How long a top-level `await` of a worker may take. */
  readonly startupWallMs: number;
  /** How long `Atomics.wait` may hold an isolate's thread in one entry. */
  readonly atomicsWaitMs: number;
  /** CPU by kind and plan; 0 = off. */
  readonly cpu: CpuLimits;
  /** Wall time of an HTTP invocation, `waitUntil` included. */
  readonly wallMs: number;
  /** Wall time of an event that is no request. */
  readonly eventWallMs: number;
  /** Nothing has come to an isolate for events for so long: it goes. */
  readonly eventIsolateIdleMs: number;
  /** Requests of one deployment that run or wait at a time, and so many events beside them. */
  readonly requestsPerDeploymentMax: number;
  /** Requests of all deployments in one engine that run or wait; above it those of the greediest are refused. */
  readonly engineRequestsMax: number;
  /** How late the event loop of an engine may be before requests of the greediest deployments are refused. */
  readonly engineLagMsMax: number;
  /** Clients' connections to an engine, above which one that waits for a request is closed. */
  readonly connectionsMax: number;
  /** Unanswered requests on one connection; one that sends more is closed after them. */
  readonly pipelinedMax: number;
  /** `fetch` calls of one invocation. */
  readonly subrequestsMax: number;
  /** `fetch` calls of one isolate under way at a time, the bodies of their responses included. */
  readonly subrequestsOpenMax: number;
  /** Open streams into one isolate, other than bodies of requests. */
  readonly streamsMax: number;
  /** Log text kept of one invocation. */
  readonly logBytesMax: number;
  /** What waits outside an isolate for it to take it, and outside for its WebSockets' peers to take it. */
  readonly bufferedBytesMax: number;
  /** Timers of one isolate. */
  readonly timersMax: number;
  /** One WebSocket message, either way (1009). */
  readonly webSocketMessageBytesMax: number;
  /** Bytes of a WebSocket that its peer has not taken: above it the socket is closed (1013). */
  readonly webSocketBufferedBytesMax: number;
  /** V8's compiled forms of workers that an engine keeps in memory. */
  readonly compiledFormsMemoryBytesMax: number;
  /** Those in its cache folder. */
  readonly compiledFormsDiskBytesMax: number;
  /** Open WebSockets of one deployment. */
  readonly webSocketsMax: number;
  /** A WebSocket that is silent this long is pinged; one that does not answer as long again is cut. */
  readonly webSocketIdleMs: number;
  /** Resident memory of an engine above which another takes its place. */
  readonly engineRecycleMb: number;
  /** An engine younger than this is not replaced for its memory: what filled it would fill the next one as well. */
  readonly engineRecycleAgeMs: number;
  /** First pause of a deployment that ended an engine; doubled with each further one. */
  readonly quarantineBackoffMs: number;
  /** How long a deployment in quarantine must serve well to be let back. */
  readonly quarantineProbationMs: number;
  /** Requests of a deployment that an engine forwards in a minute before it serves them itself; 0 = forwards none. */
  readonly forwardsMax: number;
  /** Quarantine engines at a time. */
  readonly quarantineEnginesMax: number;
  /** After which the death of an engine is held against nobody. */
  readonly crashLedgerMs: number;
  /** Bundle of a worker. */
  readonly bundleBytesMax: number;
  /** Content of an artifact. */
  readonly artifactBytesMax: number;
  /** Files in an artifact. */
  readonly artifactFilesMax: number;
  /** Graceful shutdown. */
  readonly drainMs: number;
  /** One delivery to the private port. */
  readonly deliveryBytesMax: number;
  /** Deliveries to the private port at a time. */
  readonly deliveriesMax: number;
  /** Lines of one project that an engine keeps for `platform logs`. */
  readonly logKeptBytesMax: number;
  /** Projects of which it keeps any. */
  readonly logKeptProjectsMax: number;
  /** Deployments with rows of their own in the metrics. */
  readonly metricsDeploymentsMax: number;
  /** A body in JSON to the dashboard of `platform dev`, and a stream that its `/rpc` reads to the end. */
  readonly dashboardBodyBytesMax: number;
  /** Requests, events and log lines that the dashboard of `platform dev` remembers. */
  readonly dashboardRecordsMax: number;
  /** The Cache API's store in memory, of all projects together. */
  readonly cacheBytesMax: number;
  /** Records of the cache in Postgres. */
  readonly cacheRecordsMax: number;
  /** One response in it; larger ones are not kept. */
  readonly cacheEntryBytesMax: number;
  /** Free space of the data folder's disk below which nothing is written to it; 0 = never looked at. */
  readonly diskFreeBytesMin: number;
  /** What a project keeps in state, counted now and then. */
  readonly projectStateBytesMax: number;
  /** Messages that wait in the queues of a project, and their dead letters, counted now and then. */
  readonly projectQueueBytesMax: number;
  /** Files of one project on this handler's disk, parts of uploads included. */
  readonly projectFileBytesMax: number;
  /** What uploads of one project to S3 hold in memory, before all but the eldest of them wait. */
  readonly uploadBytesHeldMax: number;
}

export const defaultLimits: Limits = {
  urlBytesMax: 16 * 1024,
  headerBytesMax: 128 * 1024,
  bodyBytesMax: 100 * 1024 * 1024,
  inlineBodyBytesMax: 64 * 1024,
  streamWindowBytes: 256 * 1024,
  idleMs: 5000,
  isolateMemoryMb: 128,
  hostMemoryMb: 256,
  engineHostMemoryMb: 1024,
  isolatesMax: 1000,
  engineMemoryMb: 4096,
  startupCpuMs: 5000,
  startupWallMs: 10_000,
  atomicsWaitMs: 5000,
  compiledFormsMemoryBytesMax: 64 * 1024 * 1024,
  compiledFormsDiskBytesMax: 1024 * 1024 * 1024,
  cpu: defaultCpuLimits,
  wallMs: 300_000,
  eventWallMs: 900_000,
  // What runs every minute finds it warm.
  eventIsolateIdleMs: 90_000,
  requestsPerDeploymentMax: 1000,
  engineRequestsMax: 10_000,
  engineLagMsMax: 1000,
  connectionsMax: 20_000,
  pipelinedMax: 256,
  subrequestsMax: 1000,
  subrequestsOpenMax: 1000,
  streamsMax: 10_000,
  logBytesMax: 256 * 1024,
  bufferedBytesMax: 64 * 1024 * 1024,
  timersMax: 10_000,
  webSocketMessageBytesMax: 32 * 1024 * 1024,
  webSocketBufferedBytesMax: 16 * 1024 * 1024,
  webSocketsMax: 10_000,
  webSocketIdleMs: 30_000,
  engineRecycleMb: 6144,
  engineRecycleAgeMs: 60_000,
  quarantineBackoffMs: 1000,
  quarantineProbationMs: 60_000,
  forwardsMax: 200,
  quarantineEnginesMax: 4,
  crashLedgerMs: 24 * 60 * 60 * 1000,
  bundleBytesMax: 64 * 1024 * 1024,
  artifactBytesMax: 2_147_483_648,
  artifactFilesMax: 100_000,
  drainMs: 10_000,
  deliveryBytesMax: 32 * 1024 * 1024,
  deliveriesMax: 1000,
  logKeptBytesMax: 128 * 1024,
  logKeptProjectsMax: 100,
  metricsDeploymentsMax: 100,
  dashboardBodyBytesMax: 32 * 1024 * 1024,
  dashboardRecordsMax: 1000,
  cacheBytesMax: 64 * 1024 * 1024,
  cacheRecordsMax: 100_000,
  cacheEntryBytesMax: 8 * 1024 * 1024,
  diskFreeBytesMin: 256 * 1024 * 1024,
  projectStateBytesMax: 10 * 1024 ** 3,
  projectQueueBytesMax: 10 * 1024 ** 3,
  projectFileBytesMax: 100 * 1024 ** 3,
  uploadBytesHeldMax: 256 * 1024 * 1024,
};

/** Size of platform.yaml and platform-workspace.yaml; not overridable. */
export const projectFileBytesMax = 64 * 1024;

/** The environment variable of each overridable bound (the CPU ones: {@link cpuLimitVariable}). */
export const limitVariables = {
  urlBytesMax: 'REQUEST_URL_BYTES_MAX',
  headerBytesMax: 'REQUEST_HEADER_BYTES_MAX',
  bodyBytesMax: 'REQUEST_BODY_BYTES_MAX',
  isolateMemoryMb: 'WORKER_MEMORY_MB',
  hostMemoryMb: 'WORKER_HOST_MEMORY_MB',
  engineHostMemoryMb: 'ENGINE_HOST_MEMORY_MB',
  isolatesMax: 'WORKER_ISOLATES_MAX',
  engineMemoryMb: 'ENGINE_MEMORY_MB',
  startupCpuMs: 'WORKER_STARTUP_CPU_LIMIT_MS',
  startupWallMs: 'WORKER_STARTUP_WALL_LIMIT_MS',
  atomicsWaitMs: 'WORKER_ATOMICS_WAIT_MS',
  compiledFormsMemoryBytesMax: 'COMPILED_FORMS_MEMORY_BYTES_MAX',
  compiledFormsDiskBytesMax: 'COMPILED_FORMS_DISK_BYTES_MAX',
  wallMs: 'WORKER_WALL_LIMIT_MS',
  eventWallMs: 'WORKER_EVENT_WALL_LIMIT_MS',
  eventIsolateIdleMs: 'WORKER_EVENT_ISOLATE_IDLE_MS',
  requestsPerDeploymentMax: 'WORKER_CONCURRENCY',
  engineRequestsMax: 'ENGINE_REQUESTS_MAX',
  engineLagMsMax: 'ENGINE_LAG_MS_MAX',
  connectionsMax: 'HANDLER_CONNECTIONS_MAX',
  pipelinedMax: 'REQUESTS_PIPELINED_MAX',
  subrequestsMax: 'WORKER_SUBREQUESTS_MAX',
  subrequestsOpenMax: 'WORKER_SUBREQUESTS_OPEN_MAX',
  streamsMax: 'WORKER_STREAMS_MAX',
  logBytesMax: 'WORKER_LOG_BYTES_MAX',
  bufferedBytesMax: 'WORKER_BUFFERED_BYTES_MAX',
  timersMax: 'WORKER_TIMERS_MAX',
  webSocketMessageBytesMax: 'WORKER_WEBSOCKET_MESSAGE_BYTES_MAX',
  webSocketBufferedBytesMax: 'WORKER_WEBSOCKET_BUFFERED_BYTES_MAX',
  webSocketsMax: 'WORKER_WEBSOCKETS_MAX',
  webSocketIdleMs: 'WORKER_WEBSOCKET_IDLE_MS',
  engineRecycleMb: 'ENGINE_RECYCLE_MB',
  engineRecycleAgeMs: 'ENGINE_RECYCLE_AGE_MS',
  quarantineBackoffMs: 'QUARANTINE_BACKOFF_MS',
  quarantineProbationMs: 'QUARANTINE_PROBATION_MS',
  forwardsMax: 'HANDLER_FORWARDS_MAX',
  quarantineEnginesMax: 'QUARANTINE_ENGINES_MAX',
  crashLedgerMs: 'CRASH_LEDGER_MS',
  artifactBytesMax: 'BUILD_ARTIFACT_MAX_BYTES',
  artifactFilesMax: 'BUILD_ARTIFACT_MAX_FILES',
  drainMs: 'DRAIN_MS',
  deliveryBytesMax: 'DELIVERY_BYTES_MAX',
  deliveriesMax: 'DELIVERIES_MAX',
  logKeptBytesMax: 'LOG_KEPT_BYTES_MAX',
  logKeptProjectsMax: 'LOG_KEPT_PROJECTS_MAX',
  metricsDeploymentsMax: 'METRICS_DEPLOYMENTS_MAX',
  dashboardBodyBytesMax: 'DASHBOARD_BODY_BYTES_MAX',
  dashboardRecordsMax: 'DASHBOARD_RECORDS_MAX',
  cacheBytesMax: 'CACHE_MEMORY_BYTES_MAX',
  cacheRecordsMax: 'CACHE_RECORDS_MAX',
  cacheEntryBytesMax: 'CACHE_ENTRY_BYTES_MAX',
  diskFreeBytesMin: 'DISK_FREE_BYTES_MIN',
  projectStateBytesMax: 'STATE_PROJECT_BYTES_MAX',
  projectQueueBytesMax: 'QUEUE_PROJECT_BYTES_MAX',
  projectFileBytesMax: 'FILES_PROJECT_BYTES_MAX',
  uploadBytesHeldMax: 'FILES_UPLOAD_BYTES_HELD_MAX',
} as const satisfies Partial<Record<keyof Limits, string>>;

/** Limits that may be switched off with 0. */
const zeroMeansOff = new Set<string>(['diskFreeBytesMin', 'forwardsMax', 'metricsDeploymentsMax', 'startupCpuMs']);

/**
 * Limits with the overrides of an environment.
 *
 * @throws {Error} naming the variable, its value and what it takes, when one is not a whole number.
 * @example limitsFrom({ WORKER_CPU_LIMIT_MS_FREE: '50' }).cpu.http.free // 50
 */
export function limitsFrom(environment: Readonly<Record<string, string | undefined>>): Limits {
  const limits: Record<string, unknown> = { ...defaultLimits };
  for (const [key, variable] of Object.entries(limitVariables)) {
    const value = environment[variable];
    if (value !== undefined && value !== '') limits[key] = wholeNumber(variable, value, zeroMeansOff.has(key) ? 0 : 1);
  }
  const cpu: Record<string, Record<string, number>> = {};
  for (const kind of invocationKinds) {
    const row: Record<string, number> = (cpu[kind] = { ...defaultCpuLimits[kind] });
    for (const plan of plans) {
      const variable = cpuLimitVariable(kind, plan);
      const value = environment[variable];
      if (value !== undefined && value !== '') row[plan] = wholeNumber(variable, value, 0);
    }
  }
  limits['cpu'] = cpu;
  return limits as unknown as Limits;
}

function wholeNumber(variable: string, value: string, least: number): number {
  const number = Number(value);
  if (!/^\d+$/.test(value.trim()) || !Number.isSafeInteger(number) || number < least) {
    throw new Error(`${variable} must be a whole number of at least ${least}, but is "${value}"`);
  }
  return number;
}
