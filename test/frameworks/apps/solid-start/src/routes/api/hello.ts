import type { APIEvent } from '@solidjs/start/server';

export const GET = ({ request }: APIEvent) => Response.json({ hello: new URL(request.url).searchParams.get('name') });
