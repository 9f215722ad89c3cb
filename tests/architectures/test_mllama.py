def test_the_cross_attention_of_llama_3_2_is_on_the_gpu_though_its_class_hides_it(weigh, recorded):
    # QKVCrossParallelLinear keeps its matrices outside parameters(): 8 layers x (4096 + 2 x 1024) x 4096
    name = "meta-llama--Llama-3.2-11B-Vision-Instruct"
    hidden = 8 * (4096 + 2 * 1024) * 4096 * 2
    assert weigh(name, "0.9.2", 1) - recorded(name, "0.9.2", 1) == hidden


def test_every_fifth_layer_attends_to_the_image(stack_for):
    layers = stack_for("meta-llama--Llama-3.2-11B-Vision-Instruct", "0.9.2").layers
    crossing = [index for index, layer in enumerate(layers) if type(layer.cache[0]).__name__ == "CrossAttention"]
    assert crossing == [3, 8, 13, 18, 23, 28, 33, 38]
