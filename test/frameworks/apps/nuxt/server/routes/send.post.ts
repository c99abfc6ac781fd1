export default defineEventHandler(async (event) => {
  const { name } = await readBody(event);
  return sendRedirect(event, `/form?name=${encodeURIComponent(name)}`, 303);
});
