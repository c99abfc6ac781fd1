// Limits of engines, builds and the supervisor. Part of core/limits.ts; not imported elsewhere.
import { DAY_MS, KB, MB, type Bounds } from './bound.ts';

export const engineBounds = {
  // Fixed
  inlineBodyBytesMax: [null, 64 * KB, 'Request bodies up to this size reach the worker together with the request'],
  streamWindowBytes: [null, 256 * KB, 'Bytes in flight on one stream over the bridge before the sender waits'],
  idleMs: [null, 5000, 'Idle keep-alive connection'],
  bundleBytesMax: [null, 64 * MB, 'Bundle of a worker'],
  // Requests
  urlBytesMax: ['REQUEST_URL_BYTES_MAX', 16 * KB, 'Request URL (414)'],
  headerBytesMax: ['REQUEST_HEADER_BYTES_MAX', 128 * KB, 'Request headers, names and values (431)'],
  bodyBytesMax: ['REQUEST_BODY_BYTES_MAX', 100 * MB, 'Request body (413)'],
  requestsPerDeploymentMax: [
    'WORKER_CONCURRENCY',
    1000,
    'Requests of one deployment that run or wait at a time, and so many events',
  ],
  connectionsMax: [
    'HANDLER_CONNECTIONS_MAX',
    20_000,
    "Clients' connections to an engine, above which one that waits for a request is closed",
  ],
  pipelinedMax: [
    'REQUESTS_PIPELINED_MAX',
    256,
    'Unanswered requests on one connection; one that sends more is closed after them',
  ],
  skewProtectionMs: [
    'SKEW_PROTECTION_MS',
    DAY_MS,
    'How long pages of a deployment that another one replaced are still served by it; 0 = not at all',
    0,
  ],
  // Workers
  isolateMemoryMb: ['WORKER_MEMORY_MB', 128, 'Heap of one isolate'],
  hostMemoryMb: [
    'WORKER_HOST_MEMORY_MB',
    256,
    'What an engine holds for one deployment outside of its isolates: compressors, streams, sockets and their unfinished messages, calls under way; events at most three quarters of it',
  ],
  isolatesMax: ['WORKER_ISOLATES_MAX', 1000, 'Live isolates in one engine, at most 3072'],
  startupCpuMs: ['WORKER_STARTUP_CPU_LIMIT_MS', 5000, "CPU of a worker's top level; 0 turns it off", 0],
  startupWallMs: ['WORKER_STARTUP_WALL_LIMIT_MS', 10_000, 'How long a top-level `await` of a worker may take'],
  atomicsWaitMs: [
    'WORKER_ATOMICS_WAIT_MS',
    5000,
    "How long `Atomics.wait` may hold an isolate's thread in one entry; then it is `timed-out`",
  ],
  wallMs: ['WORKER_WALL_LIMIT_MS', 300_000, 'Wall time of an HTTP invocation, `waitUntil` included'],
  eventWallMs: ['WORKER_EVENT_WALL_LIMIT_MS', 900_000, 'Wall time of an event that is no request'],
  eventIsolateIdleMs: [
    'WORKER_EVENT_ISOLATE_IDLE_MS',
    90_000,
    'An isolate for events goes when nothing has come to it for so long',
  ],
  subrequestsMax: ['WORKER_SUBREQUESTS_MAX', 1000, '`fetch` calls of one invocation'],
  subrequestsOpenMax: [
    'WORKER_SUBREQUESTS_OPEN_MAX',
    1000,
    '`fetch` calls of one isolate under way at a time, the bodies of their responses included',
  ],
  streamsMax: ['WORKER_STREAMS_MAX', 10_000, 'Open streams into one isolate, other than bodies of requests'],
  logBytesMax: ['WORKER_LOG_BYTES_MAX', 256 * KB, 'Log text kept of one invocation'],
  bufferedBytesMax: [
    'WORKER_BUFFERED_BYTES_MAX',
    64 * MB,
    "What waits outside an isolate for it to take it, and outside for its WebSockets' peers to take it",
  ],
  timersMax: ['WORKER_TIMERS_MAX', 10_000, 'Timers of one isolate'],
  webSocketMessageBytesMax: ['WORKER_WEBSOCKET_MESSAGE_BYTES_MAX', 32 * MB, 'One WebSocket message, either way (1009)'],
  webSocketBufferedBytesMax: [
    'WORKER_WEBSOCKET_BUFFERED_BYTES_MAX',
    16 * MB,
    'Bytes of a WebSocket that its peer has not taken: above it the socket is closed (1013)',
  ],
  webSocketsMax: ['WORKER_WEBSOCKETS_MAX', 10_000, 'Open WebSockets of one deployment'],
  webSocketIdleMs: [
    'WORKER_WEBSOCKET_IDLE_MS',
    30_000,
    'A WebSocket that is silent this long is pinged; one that does not answer as long again is cut',
  ],
  artifactBytesMax: ['BUILD_ARTIFACT_MAX_BYTES', 2_147_483_648, 'Content of an artifact: bundle and assets'],
  artifactFilesMax: ['BUILD_ARTIFACT_MAX_FILES', 100_000, 'Files in an artifact'],
  // Engines
  engineHostMemoryMb: [
    'ENGINE_HOST_MEMORY_MB',
    1024,
    'What it holds so for all of them; above it, by a quarter at most, each project has its share',
  ],
  engineMemoryMb: [
    'ENGINE_MEMORY_MB',
    4096,
    "Resident memory of an engine above which idle isolates go; never more than half of the machine's or the container's, shared by its engines",
  ],
  engineRequestsMax: [
    'ENGINE_REQUESTS_MAX',
    10_000,
    'Requests of all deployments in one engine that run or wait; above it those of the greediest are refused',
  ],
  engineLagMsMax: [
    'ENGINE_LAG_MS_MAX',
    1000,
    'How late the event loop of an engine may be before requests of the greediest deployments are refused',
  ],
  compiledFormsMemoryBytesMax: [
    'COMPILED_FORMS_MEMORY_BYTES_MAX',
    64 * MB,
    "V8's compiled forms of workers that an engine keeps in memory",
  ],
  compiledFormsDiskBytesMax: [
    'COMPILED_FORMS_DISK_BYTES_MAX',
    1024 * MB,
    "V8's compiled forms of workers in an engine's cache folder",
  ],
  engineRecycleMb: ['ENGINE_RECYCLE_MB', 6144, 'Resident memory of an engine above which another takes its place'],
  engineRecycleAgeMs: [
    'ENGINE_RECYCLE_AGE_MS',
    60_000,
    'An engine younger than this is not replaced for its memory: what filled it would fill the next one as well',
  ],
  lostThreadsCpuMs: [
    'LOST_THREADS_CPU_MS',
    10_000,
    'CPU that threads whose code could not be ended may burn in an engine before another takes its place',
  ],
  quarantineBackoffMs: [
    'QUARANTINE_BACKOFF_MS',
    1000,
    'First pause of a deployment that ended an engine or lost it a thread; doubled with each further one',
  ],
  quarantineProbationMs: [
    'QUARANTINE_PROBATION_MS',
    60_000,
    'How long a deployment in quarantine must serve well to be let back',
  ],
  forwardsMax: [
    'HANDLER_FORWARDS_MAX',
    200,
    'Requests of a deployment that an engine forwards in a minute before it serves them itself; 0 = forwards none',
    0,
  ],
  quarantineEnginesMax: ['QUARANTINE_ENGINES_MAX', 4, 'Quarantine engines at a time'],
  crashLedgerMs: ['CRASH_LEDGER_MS', DAY_MS, 'After which the death of an engine is held against nobody'],
  drainMs: ['DRAIN_MS', 10_000, 'What runs when an engine is replaced or stopped gets this long to end'],
  deliveryBytesMax: ['DELIVERY_BYTES_MAX', 32 * MB, 'One delivery to the private port'],
  deliveriesMax: ['DELIVERIES_MAX', 1000, 'Deliveries to the private port at a time'],
  logKeptBytesMax: [
    'LOG_KEPT_BYTES_MAX',
    128 * KB,
    'Lines of one project that an engine keeps for `platform logs`, the last ones',
  ],
  logKeptProjectsMax: ['LOG_KEPT_PROJECTS_MAX', 100, 'Projects of which an engine keeps any, those that wrote last'],
  metricsDeploymentsMax: [
    'METRICS_DEPLOYMENTS_MAX',
    100,
    'Deployments with rows of their own in the metrics; 0: none',
    0,
  ],
  // The dashboard of platform dev
  dashboardBodyBytesMax: [
    'DASHBOARD_BODY_BYTES_MAX',
    32 * MB,
    'A body to the mock server of `platform dev`, and a stream that its `/rpc` reads to the end',
  ],
  dashboardRecordsMax: [
    'DASHBOARD_RECORDS_MAX',
    1000,
    'Requests, events and log lines that the dashboard of `platform dev` remembers',
  ],
  // Caches
  cacheBytesMax: ['CACHE_MEMORY_BYTES_MAX', 64 * MB, "The Cache API's store in memory, of all projects together"],
  cacheRecordsMax: ['CACHE_RECORDS_MAX', 100_000, 'Records of the cache in Postgres'],
  cacheEntryBytesMax: [
    'CACHE_ENTRY_BYTES_MAX',
    8 * MB,
    'One response in the Cache API, one text of `cache`; larger ones are not kept',
  ],
  // Storage of projects
  diskFreeBytesMin: [
    'DISK_FREE_BYTES_MIN',
    256 * MB,
    "Free space of the data folder's disk below which nothing is written to it; 0 = never looked at",
    0,
  ],
  projectStateBytesMax: [
    'STATE_PROJECT_BYTES_MAX',
    10 * KB * MB,
    'What a project keeps in state, counted now and then',
  ],
  projectQueueBytesMax: [
    'QUEUE_PROJECT_BYTES_MAX',
    10 * KB * MB,
    'Messages that wait in the queues of a project, and their dead letters, counted now and then',
  ],
  projectFileBytesMax: [
    'FILES_PROJECT_BYTES_MAX',
    100 * KB * MB,
    "Files of one project on this handler's disk, parts of uploads included",
  ],
  uploadBytesHeldMax: [
    'FILES_UPLOAD_BYTES_HELD_MAX',
    256 * MB,
    'What uploads of one project to S3 hold in memory, before all but the eldest of them wait',
  ],
} satisfies Bounds;
