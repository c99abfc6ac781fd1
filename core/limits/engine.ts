// Limits of engines, builds and the supervisor. Part of core/limits.ts; not imported elsewhere.
import { DAY_MS, KB, MB, type Bounds } from './bound.ts';

export const engineBounds = {
  // Fixed
  inlineBodyBytesMax: [null, 64 * KB, 'Request bodies up to this size reach the worker together with the request'],
  streamWindowBytes: [null, 256 * KB, 'Bytes in flight on one stream over the bridge before the sender waits'],
  idleMs: [null, 5000, 'Idle keep-alive connection'],
  bundleBytesMax: [null, 64 * MB, 'Bundle of a worker'],
  // Requests
  urlBytesMax: ['REQUEST_URL_BYTES_MAX', 16 * KB, 'Length of a request URL (status 414)'],
  headerBytesMax: ['REQUEST_HEADER_BYTES_MAX', 128 * KB, 'Size of the request headers, names and values (status 431)'],
  bodyBytesMax: ['REQUEST_BODY_BYTES_MAX', 100 * MB, 'Size of a request body (status 413)'],
  requestsPerDeploymentMax: [
    'WORKER_CONCURRENCY',
    1000,
    'Running and waiting requests per deployment; the same limit applies to its events',
  ],
  connectionsMax: [
    'HANDLER_CONNECTIONS_MAX',
    20_000,
    'Client connections per engine; above it, idle connections are closed',
  ],
  pipelinedMax: [
    'REQUESTS_PIPELINED_MAX',
    256,
    'Pending requests per connection; if a client sends more, the connection is closed after these',
  ],
  skewProtectionMs: [
    'SKEW_PROTECTION_MS',
    DAY_MS,
    'How long a replaced deployment keeps serving requests from its open pages; 0: not at all',
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
  startupCpuMs: ['WORKER_STARTUP_CPU_LIMIT_MS', 5000, "CPU of a worker's top level; 0: no limit", 0],
  startupWallMs: ['WORKER_STARTUP_WALL_LIMIT_MS', 10_000, "Wall time of a worker's top-level `await`"],
  atomicsWaitMs: [
    'WORKER_ATOMICS_WAIT_MS',
    5000,
    "How long `Atomics.wait` can block an isolate's thread in one entry; then it returns `timed-out`",
  ],
  wallMs: ['WORKER_WALL_LIMIT_MS', 300_000, 'Wall time of an HTTP invocation, including `waitUntil`'],
  eventWallMs: ['WORKER_EVENT_WALL_LIMIT_MS', 900_000, 'Wall time of the invocation of an event'],
  eventIsolateIdleMs: [
    'WORKER_EVENT_ISOLATE_IDLE_MS',
    90_000,
    'Time without events after which an isolate for events is disposed',
  ],
  subrequestsMax: ['WORKER_SUBREQUESTS_MAX', 1000, '`fetch` calls per invocation'],
  subrequestsOpenMax: [
    'WORKER_SUBREQUESTS_OPEN_MAX',
    1000,
    'Concurrent `fetch` calls per isolate, including their response bodies',
  ],
  streamsMax: ['WORKER_STREAMS_MAX', 10_000, 'Open streams into an isolate, except request bodies'],
  logBytesMax: ['WORKER_LOG_BYTES_MAX', 256 * KB, 'Log text stored per invocation'],
  bufferedBytesMax: [
    'WORKER_BUFFERED_BYTES_MAX',
    64 * MB,
    'Data buffered for an isolate that it has not read yet, and data of its WebSockets that the peers have not read yet',
  ],
  timersMax: ['WORKER_TIMERS_MAX', 10_000, 'Timers per isolate'],
  webSocketMessageBytesMax: [
    'WORKER_WEBSOCKET_MESSAGE_BYTES_MAX',
    32 * MB,
    'Size of a WebSocket message in either direction (close code 1009)',
  ],
  webSocketBufferedBytesMax: [
    'WORKER_WEBSOCKET_BUFFERED_BYTES_MAX',
    16 * MB,
    'Unread bytes of a WebSocket; above it, the socket is closed (close code 1013)',
  ],
  webSocketsMax: ['WORKER_WEBSOCKETS_MAX', 10_000, 'Open WebSockets per deployment'],
  webSocketIdleMs: [
    'WORKER_WEBSOCKET_IDLE_MS',
    30_000,
    'Idle time after which a WebSocket is pinged; without a reply in the same time, it is closed',
  ],
  artifactBytesMax: ['BUILD_ARTIFACT_MAX_BYTES', 2_147_483_648, 'Size of an artifact: bundle and assets'],
  artifactFilesMax: ['BUILD_ARTIFACT_MAX_FILES', 100_000, 'Number of files in an artifact'],
  // Engines
  engineHostMemoryMb: [
    'ENGINE_HOST_MEMORY_MB',
    1024,
    'Memory that an engine holds outside isolates for all deployments. Above it, up to a quarter more is available, and each project is limited to an equal share',
  ],
  engineMemoryMb: [
    'ENGINE_MEMORY_MB',
    4096,
    'Resident memory of an engine; above it, idle isolates are disposed. At most half the memory of the machine or container, divided by its engines',
  ],
  engineRequestsMax: [
    'ENGINE_REQUESTS_MAX',
    10_000,
    'Running and waiting requests per engine; above it, requests of the busiest deployments are refused',
  ],
  engineLagMsMax: [
    'ENGINE_LAG_MS_MAX',
    1000,
    'Event loop delay of an engine; above it, requests of the busiest deployments are refused',
  ],
  compiledFormsMemoryBytesMax: [
    'COMPILED_FORMS_MEMORY_BYTES_MAX',
    64 * MB,
    'Compiled code of workers that an engine caches in memory',
  ],
  compiledFormsDiskBytesMax: [
    'COMPILED_FORMS_DISK_BYTES_MAX',
    1024 * MB,
    "Compiled code of workers in an engine's cache folder",
  ],
  engineRecycleMb: ['ENGINE_RECYCLE_MB', 6144, 'Resident memory of an engine; above it, the engine is replaced'],
  engineRecycleAgeMs: [
    'ENGINE_RECYCLE_AGE_MS',
    60_000,
    'Minimum age of an engine before it is replaced because of its memory: what filled it quickly would fill the next one as well',
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
    'Requests of a deployment that an engine forwards per minute before it serves them itself; 0: forwards none',
    0,
  ],
  quarantineEnginesMax: ['QUARANTINE_ENGINES_MAX', 4, 'Quarantine engines at a time'],
  crashLedgerMs: [
    'CRASH_LEDGER_MS',
    DAY_MS,
    'Time after which the death of an engine no longer counts against a deployment',
  ],
  drainMs: ['DRAIN_MS', 10_000, 'Time that running work gets to finish when an engine is replaced or stopped'],
  deliveryBytesMax: ['DELIVERY_BYTES_MAX', 32 * MB, 'Size of a delivery to the private port'],
  deliveriesMax: ['DELIVERIES_MAX', 1000, 'Concurrent deliveries to the private port'],
  logKeptBytesMax: [
    'LOG_KEPT_BYTES_MAX',
    128 * KB,
    'Most recent log lines per project that an engine keeps for `platform logs`',
  ],
  logKeptProjectsMax: [
    'LOG_KEPT_PROJECTS_MAX',
    100,
    'Projects for which an engine keeps log lines; the most recently active ones',
  ],
  metricsDeploymentsMax: ['METRICS_DEPLOYMENTS_MAX', 100, 'Deployments with their own rows in the metrics; 0: none', 0],
  // The dashboard of platform dev
  dashboardBodyBytesMax: [
    'DASHBOARD_BODY_BYTES_MAX',
    32 * MB,
    'Size of a request body to the mock server of `platform dev`, and of a stream that its `/rpc` returns',
  ],
  dashboardRecordsMax: [
    'DASHBOARD_RECORDS_MAX',
    1000,
    'Requests, events and log lines that the dashboard of `platform dev` keeps',
  ],
  // Caches
  cacheBytesMax: [
    'CACHE_MEMORY_BYTES_MAX',
    64 * MB,
    "Size of the Cache API's store in memory, for all projects together",
  ],
  cacheRecordsMax: ['CACHE_RECORDS_MAX', 100_000, 'Cache records in Postgres'],
  cacheEntryBytesMax: [
    'CACHE_ENTRY_BYTES_MAX',
    8 * MB,
    'Size of a response in the Cache API, or of a value in `cache`; larger ones are not stored',
  ],
  // Storage of projects
  diskFreeBytesMin: [
    'DISK_FREE_BYTES_MIN',
    256 * MB,
    "Minimum free space on the data folder's disk; below it, writes are refused; 0: not checked",
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
    'FILES_UPLOAD_BYTES_HELD_MAX',
    256 * MB,
    "Memory for a project's uploads to S3; above it, all but the oldest uploads wait",
  ],
} satisfies Bounds;
