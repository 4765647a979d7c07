// A client whose types are made from the OpenAPI document: it works with employees and materials, then prints what it saw.
import createClient, { type Middleware } from "openapi-fetch";
import type { components, paths } from "./schema";

type Employee = components["schemas"]["Employee"];
type EmployeeRequest = components["schemas"]["EmployeeRequest"];

const [base, key, token, siteId, nature] = process.argv.slice(2) as [string, string, string, string, string];
const withKey: Middleware = {
  onRequest({ request }) {
    request.headers.set("Ocp-Apim-Subscription-Key", key);
    request.headers.set("Authorization", `Bearer ${token}`);
    return request;
  },
};
const client = createClient<paths>({ baseUrl: base });
client.use(withKey);

function sure<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (answer.data === undefined) throw new Error(`${answer.response.status} ${JSON.stringify(answer.error)}`);
  return answer.data;
}

const body: EmployeeRequest = { FirstName: "Ada", LastName: "Baker", NatureOfEmploymentId: nature, Position: "Baker" };
const added = sure(await client.POST("/employee/AddEmployee", { body }));
const id: string = added.Id;

const read = await client.GET("/employee/GetEmployee/{id}", { params: { path: { id } } });
const employee: Employee = sure(read);
const etag = read.response.headers.get("ETag") ?? "";

const change = { ...body, Position: "Shift lead", EducationTraining: [{ Title: "HACCP", Year: "2024" }] };
sure(
  await client.PUT("/employee/UpdateEmployee/{id}", {
    params: { path: { id }, header: { "If-Match": etag } },
    body: change,
  }),
);
const stale = await client.PUT("/employee/UpdateEmployee/{id}", {
  params: { path: { id }, header: { "If-Match": etag } },
  body: change,
});

const listed: Employee[] = sure(await client.GET("/employee/GetEmployeeList", { params: { query: { limit: 10 } } }));
const birthday: string | null | undefined = listed[0]?.DateOfBirth;

const one = sure(
  await client.POST("/materials/", { params: { query: { siteId } }, body: { externalId: "T-1", name: "Rye flour" } }),
);
const several = sure(
  await client.POST("/materials/", {
    params: { query: { siteId } },
    body: [
      { externalId: "T-1", name: "Rye flour" },
      { externalId: "T-2", name: "Salt" },
    ],
  }),
);

console.log(
  JSON.stringify({
    first: employee.Position,
    now: listed.map((row) => [row.Position, row.EducationTraining.map((training) => training.Title)]),
    birthday,
    stale: stale.response.status,
    staleError: stale.error?.Error,
    one: Array.isArray(one) ? null : one.Message,
    several: Array.isArray(several) ? several.map((row) => row.Outcome) : null,
  }),
);
