// Limits of engines, builds and the supervisor. Part of core/limits.ts; not imported elsewhere.
import { DAY_MS, KB, MB, type LimitDefinitions } from './definition.ts';

export const engineLimits = {
  // Fixed
  inlineBodyBytesMax: [null, 64 * KB, 'Request bodies up to this size reach the worker together with the request'],
  streamWindowBytes: [null, 256 * KB, 'Bytes in flight on one stream over the bridge before the sender waits'],
  idleMs: [null, 5000, 'Idle time of a keep-alive connection'],
  bundleBytesMax: [null, 64 * MB, 'Size of the bundle of a worker'],
  // Requests
  urlBytesMax: [null, 16 * KB, 'Request URL (414)'],
  headerBytesMax: [null, 128 * KB, 'Size of the request headers, names and values (status 431)'],
  bodyBytesMax: ['REQUEST_BODY_BYTES_MAX', 100 * MB, 'Size of a request body (status 413)'],
  requestsPerDeploymentMax: [
    'WORKER_CONCURRENCY',
    1000,
    'Running and waiting requests per deployment; the same limit applies to its events',
  ],
  connectionsMax: [
    'HANDLER_CONNECTIONS_MAX',
    20_000,
    'Client connections per engine; above this limit, idle connections are closed',
  ],
  pipelinedMax: [
    null,
    256,
    'Pipelined requests on one connection; above this limit, the connection is closed after them',
  ],
  skewProtectionMs: [
    'SKEW_PROTECTION_MS',
    DAY_MS,
    'How long a replaced deployment keeps serving requests from its open pages; 0 means not at all',
    0,
  ],
  // Workers
  isolateMemoryMb: ['WORKER_MEMORY_MB', 128, 'Heap size of an isolate'],
  hostMemoryMb: [
    'WORKER_HOST_MEMORY_MB',
    256,
    'Memory per deployment that an engine holds outside isolates: compressors, streams, sockets and their partial messages, pending calls; events can use three quarters of it',
  ],
  isolatesMax: ['WORKER_ISOLATES_MAX', 1000, 'Live isolates per engine, at most 3072'],
  startupCpuMs: ['WORKER_STARTUP_CPU_LIMIT_MS', 5000, "CPU of a worker's top level; 0 means no limit", 0],
  startupWallMs: [null, 10_000, 'How long a top-level `await` of a worker may take'],
  atomicsWaitMs: [
    'WORKER_ATOMICS_WAIT_MS',
    5000,
    "How long `Atomics.wait` can block an isolate's thread in one entry; then it returns `timed-out`",
  ],
  wallMs: ['WORKER_WALL_LIMIT_MS', 300_000, 'Wall time of an HTTP invocation, including `waitUntil`'],
  eventWallMs: ['WORKER_EVENT_WALL_LIMIT_MS', 900_000, 'Wall time of an invocation for an event'],
  objectIdleMs: [
    'WORKER_OBJECT_IDLE_MS',
    60_000,
    'Time without events after which a durable object leaves memory, even with open WebSockets; at most 10 s if there are more than 1,000 objects',
  ],
  eventIsolateIdleMs: [null, 90_000, 'Time without events after which an isolate for events is disposed'],
  subrequestsMax: ['WORKER_SUBREQUESTS_MAX', 1000, '`fetch` calls and sockets per invocation'],
  subrequestsOpenMax: [null, 1000, 'Concurrent `fetch` calls and sockets of an isolate, until the response body ends'],
  streamsMax: [null, 10_000, 'Open streams into one isolate, other than bodies of requests'],
  logBytesMax: ['WORKER_LOG_BYTES_MAX', 256 * KB, 'Log text stored per invocation'],
  bufferedBytesMax: [null, 64 * MB, 'Buffered data for an isolate, and buffered data for the peers of its WebSockets'],
  timersMax: [null, 10_000, 'Timers of one isolate'],
  workLeftMax: [
    null,
    1000,
    'Events of durable objects, per isolate, that have responded but continue unawaited work; further events count as running',
  ],
  webSocketMessageBytesMax: [null, 32 * MB, 'Size of one WebSocket message in either direction (1009)'],
  webSocketBufferedBytesMax: [
    null,
    16 * MB,
    'Unsent bytes of a WebSocket; above this limit, the socket is closed (1013)',
  ],
  webSocketsMax: ['WORKER_WEBSOCKETS_MAX', 10_000, 'Open WebSockets per deployment'],
  webSocketIdleMs: [
    null,
    30_000,
    'Silence after which a WebSocket is pinged; after the same time without an answer, it is closed',
  ],
  artifactBytesMax: ['BUILD_ARTIFACT_MAX_BYTES', 2_147_483_648, 'Size of an artifact: bundle and assets'],
  artifactFilesMax: ['BUILD_ARTIFACT_MAX_FILES', 100_000, 'Number of files in an artifact'],
  // Pools
  poolConnectionsMax: [
    'POOL_CONNECTIONS_MAX',
    20,
    'Connections to the servers of the pools (`hyperdrive`) of one project per engine',
  ],
  enginePoolConnectionsMax: [null, 1000, 'Connections to the servers of pools of all projects per engine'],
  poolIdleMs: ['POOL_IDLE_MS', 60_000, 'How long a connection of a pool stays open without a session'],
  // Engines
  engineHostMemoryMb: [
    'ENGINE_HOST_MEMORY_MB',
    1024,
    'Memory that an engine holds outside isolates for all deployments. Above this limit, up to a quarter more is available, and each project is limited to an equal share',
  ],
  engineMemoryMb: [
    'ENGINE_MEMORY_MB',
    4096,
    'Resident memory of an engine; above this limit, idle isolates are disposed. At most half the memory of the machine or container, divided by its engines',
  ],
  engineRequestsMax: [
    null,
    10_000,
    'Running and waiting requests in one engine; above this limit, requests of the deployments with the most are refused',
  ],
  engineLagMsMax: [
    null,
    1000,
    'Event loop delay of an engine above which requests of the deployments with the most requests are refused',
  ],
  compiledFormsMemoryBytesMax: [null, 64 * MB, 'Size of the compiled worker code that an engine keeps in memory'],
  compiledFormsDiskBytesMax: [
    'COMPILED_FORMS_DISK_BYTES_MAX',
    1024 * MB,
    "Size of the compiled worker code in an engine's cache folder",
  ],
  engineRecycleMb: [
    'ENGINE_RECYCLE_MB',
    6144,
    'Resident memory of an engine; above this limit, the engine is replaced',
  ],
  engineRecycleAgeMs: [
    'ENGINE_RECYCLE_AGE_MS',
    60_000,
    'Minimum age of an engine before it is replaced because of its memory: a fast leak would fill the next engine as well',
  ],
  lostThreadsCpuMs: [
    'LOST_THREADS_CPU_MS',
    10_000,
    'CPU that lost threads can use in an engine before the engine is replaced',
  ],
  quarantineBackoffMs: [
    'QUARANTINE_BACKOFF_MS',
    1000,
    'First pause of a deployment that killed an engine or lost a thread; doubles each time',
  ],
  quarantineProbationMs: [
    'QUARANTINE_PROBATION_MS',
    60_000,
    'How long a deployment must run without problems to leave quarantine',
  ],
  forwardsMax: [
    'HANDLER_FORWARDS_MAX',
    200,
    'Requests of a deployment that an engine forwards per minute before it serves them itself; with 0, it forwards none',
    0,
  ],
  quarantineEnginesMax: [null, 4, 'Maximum number of quarantine engines at the same time'],
  crashLedgerMs: [null, DAY_MS, 'Time after which a crash of an engine no longer counts against a deployment'],
  drainMs: ['DRAIN_MS', 10_000, 'Time that running work gets to finish when an engine is replaced or stopped'],
  deliveryBytesMax: [null, 32 * MB, 'Size of a delivery to the private port'],
  deliveriesMax: [null, 1000, 'Deliveries to the private port at a time'],
  logKeptBytesMax: [null, 128 * KB, 'Last log lines of a project that an engine keeps for `platform logs`'],
  logKeptProjectsMax: [null, 100, 'Projects whose last log lines an engine keeps'],
  metricsDeploymentsMax: [
    'METRICS_DEPLOYMENTS_MAX',
    100,
    'Deployments with their own rows in the metrics; 0 means none',
    0,
  ],
  // The dashboard of platform dev
  dashboardBodyBytesMax: [
    null,
    32 * MB,
    'Request body for the mock server of `platform dev`, and a stream that its `/rpc` reads completely',
  ],
  dashboardRecordsMax: [null, 1000, 'Requests, events and log lines that the dashboard of `platform dev` remembers'],
  // Caches
  cacheBytesMax: [
    'CACHE_MEMORY_BYTES_MAX',
    64 * MB,
    "Size of the Cache API's store in memory, for all projects together",
  ],
  cacheRecordsMax: ['CACHE_RECORDS_MAX', 100_000, 'Number of cache records in Postgres'],
  cacheEntryBytesMax: [
    null,
    8 * MB,
    'Size of a response in the Cache API, or of a value of `cache`; larger ones are not stored',
  ],
  // Storage of projects
  diskFreeBytesMin: [
    'DISK_FREE_BYTES_MIN',
    256 * MB,
    "Minimum free space on the data folder's disk; below this limit, writes are refused; with 0, this is not checked",
    0,
  ],
  projectStateBytesMax: ['STATE_PROJECT_BYTES_MAX', 10 * KB * MB, "Size of a project's state, measured periodically"],
  projectQueueBytesMax: [
    'QUEUE_PROJECT_BYTES_MAX',
    10 * KB * MB,
    "Size of a project's waiting messages and dead letters, measured periodically",
  ],
  projectFileBytesMax: [
    'FILES_PROJECT_BYTES_MAX',
    100 * KB * MB,
    "Size of a project's files on this handler's disk, including parts of uploads",
  ],
  uploadBytesHeldMax: [
    null,
    256 * MB,
    'Memory for uploads of a project to S3; above this limit, only the oldest upload continues',
  ],
} satisfies LimitDefinitions;
