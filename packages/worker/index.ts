// Exports of `@platform-run/worker`. `withOrm` is in `@platform-run/worker/drizzle`, the client in
// `@platform-run/worker/client`.
export { platform } from './builder.ts';
export { HttpError } from './failure.ts';
export { auth, type AuthOptions, type AuthSession, type AuthState, type AuthUser } from './middleware/auth.ts';
export { cors, type CorsOptions } from './middleware/cors.ts';
export type { JwtClaims, JwtOptions } from './middleware/jwt.ts';
export { logger, type LogEntry, type LoggerOptions } from './middleware/logger.ts';
export { middleware } from './middleware/middleware.ts';
export { rateLimit, type RateLimitOptions } from './middleware/rate-limit.ts';
export type { CountingBinding, Counts, RateLimitStore } from './middleware/rate-limit-store.ts';
export type * from './app-types.ts';
export type * from './handler-types.ts';
export type * from './route-types.ts';
export type * from './event-types.ts';
export type {
  FromJsonSchema,
  InputOf,
  Json,
  OutputOf,
  Schema,
  StandardIssue,
  StandardResult,
  StandardSchema,
} from './schema-types.ts';
