import { type RouteConfig, index, route } from '@react-router/dev/routes';

export default [
  index('routes/home.tsx'),
  route('api/hello', 'routes/hello.ts'),
  route('stream', 'routes/stream.tsx'),
  route('form', 'routes/form.tsx'),
] satisfies RouteConfig;
