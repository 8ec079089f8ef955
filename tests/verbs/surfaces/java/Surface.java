import kotlin.jvm.JvmClassMappingKt;
import kotlin.reflect.KClass;
import kotlin.reflect.KFunction;
import kotlin.reflect.KParameter;
import kotlin.reflect.jvm.ReflectJvmMapping;

import paddlegate.Budget;
import paddlegate.Call;
import paddlegate.LimiterOptions;
import paddlegate.RequestAttributes;
import paddlegate.Response;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Prints the public methods of the jar with their arguments, as reflection sees them. */
public class Surface {
    /** Bags of arguments; each of their fields is one. */
    private static final List<Class<?>> BAGS =
            List.of(Call.class, Response.class, Budget.class, RequestAttributes.class);

    public static void main(String[] arguments) throws ClassNotFoundException {
        Map<String, Map<String, List<String>>> surface = new TreeMap<>();
        add(surface, "store", "Paddlegate", null);
        add(surface, "store", "Paddlegate$Companion", null);
        for (String name : List.of("Paddlegate", "Paddlegate$Companion", "BlockingPaddlegate")) {
            add(surface, "blocking store", name, null);
        }
        for (String file : List.of("Limiter", "JobsKt", "TurnsKt"))
            add(surface, "limiter", file, "Limiter");
        for (String name : List.of("BlockingLimiter", "Jobs"))
            add(surface, "blocking limiter", name, "BlockingLimiter");
        add(surface, "permit", "Permit", null);
        add(surface, "blocking permit", "BlockingPermit", null);
        add(surface, "gate", "Gate", null);
        add(surface, "blocking gate", "Gate", null);
        System.out.println(json(surface));
    }

    /**
     * Adds the methods of a class. Those of a file of extensions are static, and of the receiver
     * that is their first argument.
     */
    private static void add(
            Map<String, Map<String, List<String>>> surface,
            String owner,
            String name,
            String receiver)
            throws ClassNotFoundException {
        Class<?> type = Class.forName("paddlegate." + name);
        Map<String, List<String>> methods = surface.computeIfAbsent(owner, it -> new TreeMap<>());
        boolean isExtensions = name.endsWith("Kt") || name.equals("Jobs");
        boolean isOfJava = owner.startsWith("blocking");
        for (Method method : type.getDeclaredMethods()) {
            if (!isVerb(method, isOfJava)
                    || Modifier.isStatic(method.getModifiers()) != isExtensions) continue;
            if (isExtensions
                    && !method.getParameterTypes()[0].getName().equals("paddlegate." + receiver))
                continue;
            // Kotlin adds a hash to the name of a method with a duration. Of several forms all
            // arguments count.
            methods.computeIfAbsent(
                            method.getName().replaceFirst("-.*", ""), it -> new ArrayList<>())
                    .addAll(argumentsOf(method, name.equals("Jobs")));
        }
    }

    /** Returns the arguments by the names that Kotlin keeps of them; the receiver is none. */
    private static List<String> argumentsOf(Method method, boolean hasReceiver) {
        KFunction<?> function = ReflectJvmMapping.getKotlinFunction(method);
        // Kotlin knows nothing of the forms with fewer arguments that it makes for Java.
        if (function == null) return List.of();
        List<KParameter> parameters =
                function.getParameters().stream()
                        .filter(it -> it.getKind() == KParameter.Kind.VALUE)
                        .collect(Collectors.toList());
        return parameters.subList(hasReceiver ? 1 : 0, parameters.size()).stream()
                .flatMap(it -> argumentsOf(it).stream())
                .collect(Collectors.toList());
    }

    /**
     * Java cannot call a method whose name has the hash of Kotlin, nor one that is hidden from it,
     * nor one that suspends.
     */
    private static boolean isVerb(Method method, boolean isOfJava) {
        String name = method.getName();
        boolean isCallable =
                Modifier.isPublic(method.getModifiers())
                        && !method.isBridge()
                        && !name.contains("$");
        boolean isHidden =
                method.isSynthetic()
                        || name.contains("-")
                        || Arrays.stream(method.getParameterTypes())
                                .anyMatch(
                                        it ->
                                                it.getName()
                                                        .equals("kotlin.coroutines.Continuation"));
        return isCallable
                && !(isOfJava && isHidden)
                && !name.matches("(get|is)[A-Z].*|equals|hashCode|toString");
    }

    private static List<String> argumentsOf(KParameter parameter) {
        String name = parameter.getName();
        if (name.equals("body")) return List.of();
        Class<?> type =
                parameter.getType().getClassifier() instanceof KClass<?> it
                        ? JvmClassMappingKt.getJavaClass(it)
                        : Object.class;
        Class<?> bag = name.equals("options") ? LimiterOptions.class : type;
        if (bag == type && !BAGS.contains(type)) return List.of(name);
        // Any call takes any of its options.
        String mark = bag == Call.class ? "?" : "";
        return Arrays.stream(bag.getDeclaredFields())
                .filter(it -> !Modifier.isStatic(it.getModifiers()))
                .map(it -> mark + it.getName())
                .collect(Collectors.toList());
    }

    private static String json(Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream()
                    .map(it -> json(it.getKey()) + ":" + json(it.getValue()))
                    .collect(Collectors.joining(",", "{", "}"));
        }
        if (value instanceof List<?> list) {
            return list.stream().map(Surface::json).collect(Collectors.joining(",", "[", "]"));
        }
        return '"' + value.toString() + '"';
    }
}
