import type { LoaderFunctionArgs } from 'react-router';

export function loader({ request }: LoaderFunctionArgs) {
  return Response.json({ hello: new URL(request.url).searchParams.get('name') });
}
