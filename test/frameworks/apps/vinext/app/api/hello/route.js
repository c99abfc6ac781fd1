export function GET(request) {
  return Response.json({ hello: request.nextUrl.searchParams.get('name') });
}
